// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "driver/cuda_types.h"
#include "graph/function.h"

namespace keepgraph::graph {

struct Kernel {
    FunctionPtr function;  ///< never null
    unsigned grid[3] = {0, 0, 0};
    unsigned block[3] = {0, 0, 0};
    unsigned shared_bytes = 0;
    bool arguments_known = false;
    std::uint32_t arguments = 0;  ///< where its packed parameters start in Body::argument_bytes
    std::uint32_t room = 0;       ///< bytes there: of the largest kernel that the node ever had
};

struct Memory {
    CUdeviceptr address = 0;
    std::size_t size = 0;  ///< bytes; 0 for a free
};

struct Edge {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    unsigned char from_port = 0;
    unsigned char to_port = 0;
    unsigned char type = 0;
};

/// One node. What it holds is in the list of its body that belongs to its type, at `detail`.
struct Node {
    CUgraphNode handle = nullptr;  ///< in the template: a key, never passed to the driver once the template is gone
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    bool enabled = true;
    bool readable = true;  ///< false: the driver did not tell what it holds, or which memory that is
    std::uint32_t detail = 0;
};

/// The nodes of one graph, in the order of cuGraphGetNodes.
struct Body {
    std::uint32_t parent = 0;  ///< index of the body that holds the node
    std::uint32_t node = 0;    ///< that node
    bool edges_known = false;
    std::vector<Node> nodes;
    std::vector<Edge> edges;  ///< by `to`; those of one node in the order in which they were added, which updates go by
    std::vector<Kernel> kernels;
    std::vector<CUDA_MEMCPY3D> copies;
    std::vector<CUDA_MEMSET_NODE_PARAMS> sets;
    std::vector<CUDA_HOST_NODE_PARAMS> hosts;
    std::vector<CUevent> events;   ///< of wait_event and event_record nodes
    std::vector<Memory> memories;  ///< of mem_alloc and mem_free nodes
    std::vector<std::byte> argument_bytes;

    std::span<const std::byte> arguments_of(const Kernel& kernel) const noexcept {
        return {argument_bytes.data() + kernel.arguments, kernel.function->bytes};
    }
};

/// Where a node is.
struct Place {
    std::uint32_t body = 0;  ///< in Snapshot::bodies()
    std::uint32_t node = 0;  ///< in that body
    auto operator<=>(const Place&) const = default;
};

/// New numbers of the nodes of each body; empty for a body whose nodes keep theirs.
using Renumbering = std::vector<std::vector<std::uint32_t>>;

/// A copy of what a template says, since templates are usually destroyed as soon as they are instantiated: node
/// parameters, argument bytes, bodies of child graphs. Handles in it are values to compare and to print.
class Snapshot {
  public:
    /// Reads `graph`. A node whose parameters cannot be read stays in, unreadable. May throw std::bad_alloc.
    /// The caller holds a driver::RelaxedCapture, and nobody changes the graph meanwhile (CUDA demands that anyway).
    static Snapshot read(CUgraph graph, Functions& functions);

    /// The graph itself is bodies()[0], always there; the bodies of child graphs follow.
    const std::vector<Body>& bodies() const noexcept { return bodies_; }
    bool has_memory_nodes() const noexcept { return has_memory_nodes_; }
    const Node& node(const Place& place) const noexcept { return bodies_[place.body].nodes[place.node]; }
    /// Which of them belong to the child graph node there, and to the nodes in those. May throw std::bad_alloc.
    std::vector<bool> bodies_below(const Place& place) const;
    /// Where body `index` is: "" for the graph itself, "child#2" for the body of its node 2, "child#2/child#0" for one
    /// in that. Worked out when it is wanted: with graphs nested a thousand deep, names for all would take megabytes.
    std::string path(std::uint32_t index) const;

    /// Reads the edges of `graph`, the template that this was read from. Not part of read(): the driver takes 700 ns
    /// per edge, so edges are read when somebody wants them or the template is about to change or to go.
    void read_edges(CUgraph graph);
    bool edges_known() const noexcept { return bodies_[0].edges_known; }

    /// The node with this template handle, in child graphs too: the driver lets programs set those as well. The first
    /// call builds an index, since programs that set parameters do so before each launch. May throw std::bad_alloc.
    bool find(CUgraphNode handle, Place& place);
    /// Whether nodes of the same types and kernels come in the same order in `later`. May throw std::bad_alloc.
    bool runs_the_same(const Snapshot& later) const;
    /// An update made the exec of `first` take over the template of this: takes the edges of `first`, which of its
    /// nodes are on, the handles by which later calls name them, and their numbers, which `moved` tells of those that
    /// had others. Nodes are paired as the driver does where the edges of both are known, else by their order. False,
    /// and nothing is taken, when they cannot be. May throw std::bad_alloc.
    bool take_shape(Snapshot&& first, Renumbering& moved);
    /// Nodes could not be paired once: handles that find() does not know may be those of nodes here.
    bool handles_lost() const noexcept { return handles_lost_; }

    // What cuGraphExec...SetParams said of the node there; false when the type does not fit or it cannot be read.
    bool set_kernel(const Place& place, const CUDA_KERNEL_NODE_PARAMS& params, Functions& functions);
    bool set_copy(const Place& place, const CUDA_MEMCPY3D& params);
    bool set_memset(const Place& place, const CUDA_MEMSET_NODE_PARAMS& params);
    bool set_host(const Place& place, const CUDA_HOST_NODE_PARAMS& params);
    bool set_event(const Place& place, CUevent event);
    /// `child` was read from the graph that is the child from now on. The bodies get other numbers: `moved` has the new
    /// one of each old one, UINT32_MAX for those that went. The new bodies take the shape of the old ones; the driver
    /// takes no child graph whose nodes come in another order.
    bool set_child(const Place& place, Snapshot&& child, std::vector<std::uint32_t>& moved);
    void set_enabled(const Place& place, bool enabled) noexcept { at(place).enabled = enabled; }
    void set_unreadable(const Place& place) noexcept { at(place).readable = false; }

    /// Bytes held, about.
    std::size_t bytes() const noexcept;
    /// Lets argument bytes and edges go, and keeps what findings need. For KEEP=off and above KEEP's max.
    void drop_data() noexcept;
    /// The same, when it was done before, of what a change of the node there brought back. A program that sets every
    /// node before each launch must not pay for all nodes each time.
    void drop_data_of(const Place& place) noexcept;
    bool data_dropped() const noexcept { return data_dropped_; }

  private:
    using Index = std::unordered_map<CUgraphNode, Place>;

    Node& at(const Place& place) noexcept { return bodies_[place.body].nodes[place.node]; }
    void add_to(Index& index, std::uint32_t body);
    void note_memory_nodes() noexcept;
    void read_edges_of(std::size_t body, CUgraph graph);

    std::vector<Body> bodies_;
    // Built by find(). Apart, since programs that set child graphs before each launch must not pay for the others.
    Index of_root_;
    Index of_children_;
    bool has_memory_nodes_ = false;
    bool data_dropped_ = false;
    bool handles_lost_ = false;
};

}  // namespace keepgraph::graph
