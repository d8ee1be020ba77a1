// SPDX-License-Identifier: Apache-2.0
// Changing an executable graph: a node's parameters, or all of them by a template of the same shape.
#include <algorithm>

#include "context.h"
#include "exec.h"
#include "function.h"
#include "node_params.h"

namespace keepgraph::sim {
namespace {

CUresult set_work(CUgraphExec handle, CUgraphNode node_handle, Work work) {
    const Locked lock;
    auto* exec = find<Exec>(handle);
    ExecNode* node = exec != nullptr ? find_node(*exec->body, node_handle) : nullptr;
    if (node == nullptr || node->work.index() != work.index())
        return CUDA_ERROR_INVALID_VALUE;
    if (std::holds_alternative<AllocWork>(work) || std::holds_alternative<FreeWork>(work))
        return CUDA_ERROR_NOT_SUPPORTED;
    node->work = std::move(work);
    return CUDA_SUCCESS;
}

/// The graph and node are looked at before the parameters are.
template <class Make>
CUresult change(CUgraphExec handle, CUgraphNode node, Make make) {
    {
        const Locked lock;
        auto* exec = find<Exec>(handle);
        if (exec == nullptr || find_node(*exec->body, node) == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
    }
    Work work = EmptyWork{};
    const CUresult code = make(&work);
    return code == CUDA_SUCCESS ? set_work(handle, node, std::move(work)) : code;
}

template <class Params>
auto locked_work(const Params* params) {
    return [params](Work* work) {
        const Locked lock;
        return to_work(params, work);
    };
}

template <class Params>
CUresult kernel(CUgraphExec exec, CUgraphNode node, const Params* params) {
    return change(exec, node, locked_work(params));
}

CUgraphExecUpdateResultInfo no(CUgraphExecUpdateResult why, const Node* node = nullptr, const Node* from = nullptr) {
    return {why, handle_of<CUgraphNode>(node), handle_of<CUgraphNode>(from)};
}

/// The template's node for each node of the executable graph. NVIDIA documents the rule: nodes without outgoing edges
/// in their order, then the incoming edges of each pair in theirs. Otherwise the order in which nodes were made does
/// not count.
CUgraphExecUpdateResultInfo pair(const ExecBody& body, const Graph& graph, std::vector<const Node*>* pairs) {
    const size_t count = body.nodes.size();
    if (graph.nodes.size() != count)
        return no(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    std::vector<bool> has_outgoing(count);
    for (const ExecNode& node : body.nodes)
        for (const unsigned before : node.after)
            has_outgoing[before] = true;
    std::unordered_map<const Node*, unsigned> place;
    std::vector<unsigned> found;
    pairs->assign(count, nullptr);
    const auto join = [&](unsigned old, const Node* node) {
        (*pairs)[old] = node;
        place.emplace(node, old);
        found.push_back(old);
    };
    unsigned sink = 0;
    for (const Node* node : graph.nodes) {
        if (!node->before.empty())
            continue;
        while (sink < count && has_outgoing[sink])
            ++sink;
        if (sink == count)
            return no(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, node);
        join(sink++, node);
    }
    while (sink < count && has_outgoing[sink])
        ++sink;
    if (sink < count)
        return no(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    for (size_t next = 0; next < found.size(); ++next) {
        const std::vector<unsigned>& old = body.nodes[found[next]].after;
        const Node* node = (*pairs)[found[next]];
        if (node->after.size() != old.size())
            return no(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, node);
        for (size_t k = 0; k < old.size(); ++k) {
            const Node* from = node->after[k].node;
            const auto known = place.find(from);
            if (known == place.end() && (*pairs)[old[k]] == nullptr)
                join(old[k], from);
            else if (known == place.end() || known->second != old[k])
                return no(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, node, from);
        }
    }
    // What is on no way to such a node is part of a cycle.
    return no(found.size() == count ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
}

/// A node of an executable graph and the work that it takes over.
struct Change {
    ExecNode* node;
    const Work* work;
};

/// Adds what changes in `body` and in the child graphs below it. An error leaves everything as it was.
CUgraphExecUpdateResultInfo compare(ExecBody& body, const Graph& graph, std::vector<Change>* changes) {
    std::vector<const Node*> pairs;
    if (const auto topology = pair(body, graph, &pairs); topology.result != CU_GRAPH_EXEC_UPDATE_SUCCESS)
        return topology;
    for (size_t i = 0; i < pairs.size(); ++i) {
        const Node* node = pairs[i];
        ExecNode& old = body.nodes[i];
        if (node->work.index() != old.work.index())
            return no(CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, node);
        if (const auto* child = std::get_if<ChildWork>(&node->work)) {
            const auto inner = compare(*old.child, *child->graph, changes);
            if (inner.result != CU_GRAPH_EXEC_UPDATE_SUCCESS)
                return inner;
        }
        if (const auto* copy = std::get_if<CopyWork>(&node->work)) {
            const CUDA_MEMCPY3D &now = copy->params, &then = std::get<CopyWork>(old.work).params;
            if (now.srcMemoryType != then.srcMemoryType || now.dstMemoryType != then.dstMemoryType) {
                return no(CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, node);
            }
        }
        if (std::holds_alternative<AllocWork>(node->work) || std::holds_alternative<FreeWork>(node->work)) {
            return no(CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, node);
        }
        changes->push_back({&old, &node->work});
    }
    return no(CU_GRAPH_EXEC_UPDATE_SUCCESS);
}

CUgraphExecUpdateResultInfo take_over(ExecBody& body, const Graph& graph) {
    std::vector<Change> changes;
    const auto info = compare(body, graph, &changes);
    if (info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS)
        for (const Change& change : changes)
            change.node->work = *change.work;
    return info;
}

/// Setting a child graph refuses what an update would pair: there its nodes must have been made in the same order.
bool in_same_order(const ExecBody& body, const Graph& graph) {
    std::vector<const Node*> pairs;
    return pair(body, graph, &pairs).result == CU_GRAPH_EXEC_UPDATE_SUCCESS &&
           std::equal(pairs.begin(), pairs.end(), graph.nodes.begin(), graph.nodes.end());
}

CUresult update(CUgraphExec handle, CUgraph graph_handle, CUgraphExecUpdateResultInfo* info) {
    const Locked lock;
    auto* exec = find<Exec>(handle);
    const auto* graph = find<Graph>(graph_handle);
    if (exec == nullptr || graph == nullptr) {
        *info = no(CU_GRAPH_EXEC_UPDATE_ERROR);
        return CUDA_ERROR_INVALID_VALUE;
    }
    *info = take_over(*exec->body, *graph);
    return info->result == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

bool can_be_disabled(const Work& work) {
    return std::holds_alternative<KernelWork>(work) || std::holds_alternative<CopyWork>(work) ||
           std::holds_alternative<MemsetWork>(work);
}

}  // namespace
}  // namespace keepgraph::sim

using namespace keepgraph::sim;

SIM_EXPORT CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* error_node,
                                      CUgraphExecUpdateResult* result) {
    SIM_ENTER(cuGraphExecUpdate);
    if (error_node == nullptr || result == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphExecUpdateResultInfo info;
    const CUresult code = update(exec, graph, &info);
    *error_node = info.errorNode;
    // A changed number of nodes has another name in this form than in the newer one.
    const bool count_changed = info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED && info.errorNode == nullptr;
    *result = count_changed ? CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED : info.result;
    return code;
}

SIM_EXPORT CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
    SIM_ENTER(cuGraphExecUpdate_v2);
    CUgraphExecUpdateResultInfo unwanted;
    return update(exec, graph, info != nullptr ? info : &unwanted);
}

SIM_EXPORT CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                   const CUDA_KERNEL_NODE_PARAMS_v1* params) {
    SIM_ENTER(cuGraphExecKernelNodeSetParams);
    return kernel(exec, node, params);
}

SIM_EXPORT CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                                      const CUDA_KERNEL_NODE_PARAMS* params) {
    SIM_ENTER(cuGraphExecKernelNodeSetParams_v2);
    return kernel(exec, node, params);
}

SIM_EXPORT CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* params,
                                                   CUcontext ctx) {
    SIM_ENTER(cuGraphExecMemcpyNodeSetParams);
    return change(exec, node, [&](Work* work) { return to_work(params, ctx, work); });
}

SIM_EXPORT CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                   const CUDA_MEMSET_NODE_PARAMS* params, CUcontext ctx) {
    SIM_ENTER(cuGraphExecMemsetNodeSetParams);
    return change(exec, node, [&](Work* work) { return to_work(params, ctx, work); });
}

SIM_EXPORT CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                 const CUDA_HOST_NODE_PARAMS* params) {
    SIM_ENTER(cuGraphExecHostNodeSetParams);
    return change(exec, node, [&](Work* work) { return to_work(params, work); });
}

SIM_EXPORT CUresult cuGraphExecBatchMemOpNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                       const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
    SIM_ENTER(cuGraphExecBatchMemOpNodeSetParams);
    return change(exec, node, [&](Work* work) { return to_work(params, work); });
}

SIM_EXPORT CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
    SIM_ENTER(cuGraphExecEventRecordNodeSetEvent);
    return change(exec, node, [&](Work* work) {
        const Locked lock;
        return to_work_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event, work);
    });
}

SIM_EXPORT CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
    SIM_ENTER(cuGraphExecEventWaitNodeSetEvent);
    return change(exec, node, [&](Work* work) {
        const Locked lock;
        return to_work_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event, work);
    });
}

SIM_EXPORT CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec handle, CUgraphNode node_handle, CUgraph child) {
    SIM_ENTER(cuGraphExecChildGraphNodeSetParams);
    const Locked lock;
    auto* exec = find<Exec>(handle);
    const auto* graph = find<Graph>(child);
    ExecNode* node = exec != nullptr ? find_node(*exec->body, node_handle) : nullptr;
    if (node == nullptr || graph == nullptr || node->child == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    const bool taken =
        in_same_order(*node->child, *graph) && take_over(*node->child, *graph).result == CU_GRAPH_EXEC_UPDATE_SUCCESS;
    return taken ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

SIM_EXPORT CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* params) {
    SIM_ENTER(cuGraphExecNodeSetParams);
    return change(exec, node, [&](Work* work) { return to_work(params, work); });
}

SIM_EXPORT CUresult cuGraphNodeSetEnabled(CUgraphExec handle, CUgraphNode node_handle, unsigned int enabled) {
    SIM_ENTER(cuGraphNodeSetEnabled);
    const Locked lock;
    auto* exec = find<Exec>(handle);
    ExecNode* node = exec != nullptr ? find_node(*exec->body, node_handle) : nullptr;
    if (node == nullptr || !can_be_disabled(node->work))
        return CUDA_ERROR_INVALID_VALUE;
    node->enabled = enabled != 0;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuGraphNodeGetEnabled(CUgraphExec handle, CUgraphNode node_handle, unsigned int* enabled) {
    SIM_ENTER(cuGraphNodeGetEnabled);
    const Locked lock;
    auto* exec = find<Exec>(handle);
    const ExecNode* node = exec != nullptr ? find_node(*exec->body, node_handle) : nullptr;
    if (node == nullptr || enabled == nullptr || !can_be_disabled(node->work))
        return CUDA_ERROR_INVALID_VALUE;
    *enabled = node->enabled;
    return CUDA_SUCCESS;
}
