// SPDX-License-Identifier: Apache-2.0
#include "graph/snapshot.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "driver/api.h"
#include "graph/pairing.h"

namespace keepgraph::graph {
namespace {

const Function unknown_function;

// The driver gives the pairs back as SIZE, POINTER; programs write them the other way round. Only the keys count.
std::span<const std::byte> packed_buffer(void** extra) {
    const std::byte* start = nullptr;
    std::size_t size = 0;
    for (; extra != nullptr && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            start = static_cast<const std::byte*>(extra[1]);
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1] != nullptr)
            size = *static_cast<const std::size_t*>(extra[1]);
    }
    return start != nullptr ? std::span(start, size) : std::span<const std::byte>();
}

// Most parameters are pointers and numbers, for which a call of memcpy costs more than the copy.
void copy_parameter(std::byte* out, const void* in, std::size_t size) {
    if (size == 8)
        std::memcpy(out, in, 8);
    else if (size == 4)
        std::memcpy(out, in, 4);
    else
        std::memcpy(out, in, size);
}

// Copies the parameters of `params` to `out`, which has room for function.bytes. False: they are not there.
bool copy_arguments(const CUDA_KERNEL_NODE_PARAMS& params, const Function& function, std::byte* out) {
    if (!function.layout_known)
        return false;
    if (params.kernelParams != nullptr) {
        for (std::size_t i = 0; i < function.parameters.size(); ++i) {
            const auto [offset, size] = function.parameters[i];
            if (params.kernelParams[i] == nullptr)
                return false;
            copy_parameter(out + offset, params.kernelParams[i], size);
        }
        return true;
    }
    const auto packed = packed_buffer(params.extra);
    const std::size_t given = std::min<std::size_t>(packed.size(), function.bytes);
    std::copy_n(packed.data(), given, out);
    std::fill(out + given, out + function.bytes, std::byte{0});  // what stood there before was of an older call
    return !packed.empty() || function.bytes == 0;
}

// Fills `kernel` from `params`. Bytes of a kernel that takes no more than the largest one before are written in place:
// a program that sets parameters before each launch, of one kernel or of several in turn, must not make the copy grow.
bool fill(Body& body, Kernel& kernel, const CUDA_KERNEL_NODE_PARAMS& params, FunctionPtr function, bool in_place) {
    kernel.grid[0] = params.gridDimX;
    kernel.grid[1] = params.gridDimY;
    kernel.grid[2] = params.gridDimZ;
    kernel.block[0] = params.blockDimX;
    kernel.block[1] = params.blockDimY;
    kernel.block[2] = params.blockDimZ;
    kernel.shared_bytes = params.sharedMemBytes;
    if (!in_place || kernel.room < function->bytes) {
        kernel.arguments = static_cast<std::uint32_t>(body.argument_bytes.size());
        kernel.room = function->bytes;
        body.argument_bytes.resize(body.argument_bytes.size() + function->bytes);
    }
    kernel.function = function;
    kernel.arguments_known = copy_arguments(params, *kernel.function, body.argument_bytes.data() + kernel.arguments);
    return kernel.arguments_known;
}

template <class List>
std::uint32_t add(List& list, const typename List::value_type& value) {
    list.push_back(value);
    return static_cast<std::uint32_t>(list.size() - 1);
}

// Calls a getter that an old driver may lack.
template <class Getter, class... Arguments>
bool ask(Getter getter, Arguments... arguments) {
    return getter != nullptr && getter(arguments...) == CUDA_SUCCESS;
}

// Neighbours in a graph often run the same kernel.
class LastFunction {
  public:
    explicit LastFunction(Functions& functions) : functions_(functions) {}
    FunctionPtr of(const CUDA_KERNEL_NODE_PARAMS& params) {
        if (last_ == nullptr || params.func != func_ || params.kern != kern_) {
            last_ = functions_.of(params);
            func_ = params.func;
            kern_ = params.kern;
        }
        return last_;
    }

  private:
    Functions& functions_;
    FunctionPtr last_ = nullptr;
    CUfunction func_ = nullptr;
    CUkernel kern_ = nullptr;
};

bool read_node(Body& body, Node& node, LastFunction& functions) {
    const auto& api = driver::api();
    switch (node.type) {
        case CU_GRAPH_NODE_TYPE_KERNEL: {
            CUDA_KERNEL_NODE_PARAMS params{};
            const bool known = ask(api.cuGraphKernelNodeGetParams_v2, node.handle, &params);
            node.detail = static_cast<std::uint32_t>(body.kernels.size());
            Kernel& kernel = body.kernels.emplace_back();
            kernel.function = &unknown_function;
            return known && fill(body, kernel, params, functions.of(params), false);
        }
        case CU_GRAPH_NODE_TYPE_MEMCPY: {
            CUDA_MEMCPY3D params{};
            const bool known = ask(api.cuGraphMemcpyNodeGetParams, node.handle, &params);
            node.detail = add(body.copies, params);
            return known;
        }
        case CU_GRAPH_NODE_TYPE_MEMSET: {
            CUDA_MEMSET_NODE_PARAMS params{};
            const bool known = ask(api.cuGraphMemsetNodeGetParams, node.handle, &params);
            node.detail = add(body.sets, params);
            return known;
        }
        case CU_GRAPH_NODE_TYPE_HOST: {
            CUDA_HOST_NODE_PARAMS params{};
            const bool known = ask(api.cuGraphHostNodeGetParams, node.handle, &params);
            node.detail = add(body.hosts, params);
            return known;
        }
        case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        case CU_GRAPH_NODE_TYPE_EVENT_RECORD: {
            CUevent event = nullptr;
            const bool known = ask(node.type == CU_GRAPH_NODE_TYPE_WAIT_EVENT ? api.cuGraphEventWaitNodeGetEvent
                                                                              : api.cuGraphEventRecordNodeGetEvent,
                                   node.handle, &event);
            node.detail = add(body.events, event);
            return known;
        }
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
            CUDA_MEM_ALLOC_NODE_PARAMS params{};
            const bool known = ask(api.cuGraphMemAllocNodeGetParams, node.handle, &params);
            node.detail = add(body.memories, {params.dptr, params.bytesize});
            return known;
        }
        case CU_GRAPH_NODE_TYPE_MEM_FREE: {
            CUdeviceptr address = 0;
            const bool known = ask(api.cuGraphMemFreeNodeGetParams, node.handle, &address);
            node.detail = add(body.memories, {address, 0});
            return known;
        }
        case CU_GRAPH_NODE_TYPE_EMPTY:
        case CU_GRAPH_NODE_TYPE_GRAPH:
            return true;
        default:
            return false;  // semaphores, batches of memory operations, conditionals, and what comes after them
    }
}

std::size_t bytes_of(const Body& body) noexcept {
    return body.nodes.capacity() * sizeof(Node) + body.edges.capacity() * sizeof(Edge) +
           body.kernels.capacity() * sizeof(Kernel) + body.copies.capacity() * sizeof(CUDA_MEMCPY3D) +
           body.sets.capacity() * sizeof(CUDA_MEMSET_NODE_PARAMS) + body.argument_bytes.capacity();
}

void drop(Kernel& kernel) noexcept {
    kernel.arguments_known = false;
    kernel.room = 0;
}

void drop(Body& body) noexcept {
    std::vector<std::byte>().swap(body.argument_bytes);
    std::vector<Edge>().swap(body.edges);
    body.edges_known = false;
    for (Kernel& kernel : body.kernels)
        drop(kernel);
}

// `edges` are those that end at one node. cuGraphGetEdges does not give them in the order in which they were added.
void put_in_order_of_addition(const Body& body, std::span<Edge> edges) {
    const auto& api = driver::api();
    const CUgraphNode node = body.nodes[edges.front().to].handle;
    std::vector<CUgraphNode> from(edges.size());
    std::vector<CUgraphEdgeData> data(edges.size());
    std::size_t count = edges.size();
    if (!ask(api.cuGraphNodeGetDependencies_v2, node, from.data(), data.data(), &count) &&
        !ask(api.cuGraphNodeGetDependencies, node, from.data(), &count))
        return;
    std::unordered_map<CUgraphNode, std::size_t> place;
    for (std::size_t i = 0; i < from.size(); ++i)
        place.emplace(from[i], i);
    std::stable_sort(edges.begin(), edges.end(), [&](const Edge& a, const Edge& b) {
        return place[body.nodes[a.from].handle] < place[body.nodes[b.from].handle];
    });
}

bool all_found(const std::vector<Match>& matches) {
    return std::all_of(matches.begin(), matches.end(), std::mem_fn(&Match::found));
}

// Calls `found(node, graph)` for each child graph.
template <class Found>
void read_body(Body& body, CUgraph graph, Functions& functions, Found found) {
    const auto& api = driver::api();
    std::vector<CUgraphNode> handles;
    std::size_t count = 0;
    if (ask(api.cuGraphGetNodes, graph, static_cast<CUgraphNode*>(nullptr), &count) && count > 0) {
        handles.resize(count);
        if (!ask(api.cuGraphGetNodes, graph, handles.data(), &count))
            count = 0;
        handles.resize(std::min(count, handles.size()));
    }
    body.nodes.resize(handles.size());
    body.kernels.reserve(handles.size());  // what most nodes are
    LastFunction last(functions);
    for (std::uint32_t i = 0; i < handles.size(); ++i) {
        Node& node = body.nodes[i];
        node.handle = handles[i];
        node.readable = ask(api.cuGraphNodeGetType, node.handle, &node.type) && read_node(body, node, last);
        CUgraph child = nullptr;
        if (node.type == CU_GRAPH_NODE_TYPE_GRAPH && node.readable) {
            node.readable = ask(api.cuGraphChildGraphNodeGetGraph, node.handle, &child);
            if (node.readable)
                found(i, child);
        }
    }
}

}  // namespace

// A list of what is to be read, not recursion: this runs on the host's stack, which a program that nests graphs a
// thousand deep may have made small.
Snapshot Snapshot::read(CUgraph graph, Functions& functions) {
    struct Pending {
        CUgraph graph;
        std::uint32_t parent;
        std::uint32_t node;
    };
    Snapshot snapshot;
    std::vector<Pending> pending{{graph, 0, 0}};
    while (!pending.empty()) {
        const Pending next = pending.back();
        pending.pop_back();
        const auto index = static_cast<std::uint32_t>(snapshot.bodies_.size());
        const std::size_t others = pending.size();
        Body body;
        body.parent = next.parent;
        body.node = next.node;
        read_body(body, next.graph, functions, [&](std::uint32_t node, CUgraph child) {
            pending.push_back({child, index, node});
        });
        snapshot.bodies_.push_back(std::move(body));
        std::reverse(pending.begin() + static_cast<std::ptrdiff_t>(others), pending.end());  // the first comes next
    }
    snapshot.note_memory_nodes();
    return snapshot;
}

void Snapshot::note_memory_nodes() noexcept {
    has_memory_nodes_ =
        std::any_of(bodies_.begin(), bodies_.end(), [](const Body& body) { return !body.memories.empty(); });
}

std::string Snapshot::path(std::uint32_t index) const {
    std::vector<std::uint32_t> nodes;
    for (; index != 0; index = bodies_[index].parent)
        nodes.push_back(bodies_[index].node);
    std::string text;
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node)
        text += (text.empty() ? "child#" : "/child#") + std::to_string(*node);
    return text;
}

void Snapshot::read_edges_of(std::size_t which, CUgraph graph) {
    const auto& api = driver::api();
    Body& body = bodies_[which];
    std::size_t count = 0;
    std::vector<CUgraphNode> from;
    std::vector<CUgraphNode> to;
    std::vector<CUgraphEdgeData> data;
    bool known = false;
    // _v2 tells the ports too; the old form fails when an edge has any.
    if (ask(api.cuGraphGetEdges_v2, graph, static_cast<CUgraphNode*>(nullptr), static_cast<CUgraphNode*>(nullptr),
            static_cast<CUgraphEdgeData*>(nullptr), &count)) {
        from.resize(count);
        to.resize(count);
        data.resize(count);
        known = count == 0 || ask(api.cuGraphGetEdges_v2, graph, from.data(), to.data(), data.data(), &count);
    } else if (ask(api.cuGraphGetEdges, graph, static_cast<CUgraphNode*>(nullptr), static_cast<CUgraphNode*>(nullptr),
                   &count)) {
        from.resize(count);
        to.resize(count);
        data.resize(count);
        known = count == 0 || ask(api.cuGraphGetEdges, graph, from.data(), to.data(), &count);
    }
    if (!known)
        return;
    std::unordered_map<CUgraphNode, std::uint32_t> index;
    for (std::uint32_t i = 0; i < body.nodes.size(); ++i)
        index.emplace(body.nodes[i].handle, i);
    std::vector<Edge> edges;
    edges.reserve(from.size());
    for (std::size_t i = 0; i < std::min(count, from.size()); ++i) {
        const auto begin = index.find(from[i]);
        const auto end = index.find(to[i]);
        if (begin == index.end() || end == index.end())
            return;  // the template changed since: these are not the edges of what was instantiated
        edges.push_back({begin->second, end->second, data[i].from_port, data[i].to_port, data[i].type});
    }
    std::stable_sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.to < b.to; });
    for (auto first = edges.begin(); first != edges.end();) {
        const auto last = std::find_if(first, edges.end(), [&](const Edge& edge) { return edge.to != first->to; });
        if (last - first > 1)
            put_in_order_of_addition(body, {first, last});
        first = last;
    }
    body.edges = std::move(edges);
    body.edges_known = true;
}

void Snapshot::read_edges(CUgraph graph) {
    if (data_dropped_)
        return;
    std::vector<CUgraph> graphs(bodies_.size(), nullptr);
    graphs[0] = graph;
    for (std::size_t i = 0; i < bodies_.size(); ++i) {
        if (i > 0 && graphs[bodies_[i].parent] != nullptr) {
            const Body& parent = bodies_[bodies_[i].parent];
            (void)ask(driver::api().cuGraphChildGraphNodeGetGraph, parent.nodes[bodies_[i].node].handle, &graphs[i]);
        }
        if (graphs[i] != nullptr && !bodies_[i].edges_known)
            read_edges_of(i, graphs[i]);
    }
}

std::vector<bool> Snapshot::bodies_below(const Place& place) const {
    std::vector<bool> below(bodies_.size(), false);
    for (std::size_t i = 1; i < bodies_.size(); ++i)
        below[i] = below[bodies_[i].parent] || Place{bodies_[i].parent, bodies_[i].node} == place;
    return below;
}

void Snapshot::add_to(Index& index, std::uint32_t body) {
    const auto& nodes = bodies_[body].nodes;
    for (std::uint32_t i = 0; i < nodes.size(); ++i)
        index.emplace(nodes[i].handle, Place{body, i});
}

bool Snapshot::find(CUgraphNode handle, Place& place) {
    if (of_root_.empty())
        add_to(of_root_, 0);
    auto found = of_root_.find(handle);
    if (found == of_root_.end()) {
        if (of_children_.empty())
            for (std::uint32_t body = 1; body < bodies_.size(); ++body)
                add_to(of_children_, body);
        found = of_children_.find(handle);
        if (found == of_children_.end())
            return false;
    }
    place = found->second;
    return true;
}

bool Snapshot::runs_the_same(const Snapshot& later) const {
    const std::vector<Match> matches = match_bodies(bodies_, 0, later.bodies_);
    for (std::size_t i = 0; i < matches.size(); ++i)
        if (!matches[i].found() || !same_kernels(bodies_[matches[i].body], later.bodies_[i]))
            return false;
    return true;
}

bool Snapshot::take_shape(Snapshot&& first, Renumbering& moved) {
    std::vector<Match> matches = match_bodies(first.bodies_, 0, bodies_);
    const bool complete = bodies_.size() == first.bodies_.size() && all_found(matches);
    handles_lost_ = first.handles_lost_ || !complete;
    if (!complete)
        return false;
    adopt(bodies_, first.bodies_, matches);
    of_root_ = std::move(first.of_root_);
    of_children_.clear();
    moved.clear();
    for (Match& match : matches)
        moved.push_back(std::move(match.nodes));
    return true;
}

bool Snapshot::set_kernel(const Place& place, const CUDA_KERNEL_NODE_PARAMS& params, Functions& functions) {
    Body& body = bodies_[place.body];
    Node& node = at(place);
    if (node.type != CU_GRAPH_NODE_TYPE_KERNEL)
        return false;
    node.readable = fill(body, body.kernels[node.detail], params, functions.of(params), !data_dropped_);
    return node.readable;
}

bool Snapshot::set_copy(const Place& place, const CUDA_MEMCPY3D& params) {
    Node& node = at(place);
    if (node.type != CU_GRAPH_NODE_TYPE_MEMCPY)
        return false;
    bodies_[place.body].copies[node.detail] = params;
    return node.readable = true;
}

bool Snapshot::set_memset(const Place& place, const CUDA_MEMSET_NODE_PARAMS& params) {
    Node& node = at(place);
    if (node.type != CU_GRAPH_NODE_TYPE_MEMSET)
        return false;
    bodies_[place.body].sets[node.detail] = params;
    return node.readable = true;
}

bool Snapshot::set_host(const Place& place, const CUDA_HOST_NODE_PARAMS& params) {
    Node& node = at(place);
    if (node.type != CU_GRAPH_NODE_TYPE_HOST)
        return false;
    bodies_[place.body].hosts[node.detail] = params;
    return node.readable = true;
}

bool Snapshot::set_event(const Place& place, CUevent event) {
    Node& node = at(place);
    if (node.type != CU_GRAPH_NODE_TYPE_WAIT_EVENT && node.type != CU_GRAPH_NODE_TYPE_EVENT_RECORD)
        return false;
    bodies_[place.body].events[node.detail] = event;
    return node.readable = true;
}

bool Snapshot::set_child(const Place& place, Snapshot&& child, std::vector<std::uint32_t>& moved) {
    if (at(place).type != CU_GRAPH_NODE_TYPE_GRAPH)
        return false;
    // The program goes on to name the nodes by the handles of the template that the exec was made from.
    const auto old = std::find_if(bodies_.begin() + 1, bodies_.end(), [&](const Body& body) {
        return Place{body.parent, body.node} == place;
    });
    if (old != bodies_.end()) {
        const auto root = static_cast<std::uint32_t>(old - bodies_.begin());
        const std::vector<Match> matches = match_bodies(bodies_, root, child.bodies_);
        adopt(child.bodies_, bodies_, matches);
        handles_lost_ = handles_lost_ || !all_found(matches);
    }
    // The old body goes with everything below it; the others keep their order and get new numbers. That of `place`
    // keeps its own: what is below a body comes after it.
    const std::vector<bool> goes = bodies_below(place);
    moved.assign(bodies_.size(), UINT32_MAX);
    std::vector<Body> kept;
    for (std::uint32_t i = 0; i < bodies_.size(); ++i) {
        if (goes[i])
            continue;
        moved[i] = static_cast<std::uint32_t>(kept.size());
        bodies_[i].parent = moved[bodies_[i].parent];
        kept.push_back(std::move(bodies_[i]));
    }
    const auto first = static_cast<std::uint32_t>(kept.size());
    for (Body& body : child.bodies_) {
        body.parent += first;
        kept.push_back(std::move(body));
    }
    kept[first].parent = place.body;
    kept[first].node = place.node;
    bodies_ = std::move(kept);
    note_memory_nodes();
    of_children_.clear();
    return true;
}

std::size_t Snapshot::bytes() const noexcept {
    std::size_t total = 0;
    for (const Body& body : bodies_)
        total += bytes_of(body);
    return total;
}

void Snapshot::drop_data() noexcept {
    data_dropped_ = true;
    for (Body& body : bodies_)
        drop(body);
}

void Snapshot::drop_data_of(const Place& place) noexcept {
    const Node& node = at(place);
    if (node.type == CU_GRAPH_NODE_TYPE_KERNEL) {
        Body& body = bodies_[place.body];
        std::vector<std::byte>().swap(body.argument_bytes);  // nobody else's are left
        drop(body.kernels[node.detail]);
    } else if (node.type == CU_GRAPH_NODE_TYPE_GRAPH) {
        drop_data();
    }
}

}  // namespace keepgraph::graph
