// SPDX-License-Identifier: Apache-2.0
// Instantiating, launching and destroying executable graphs.
#include "exec.h"

#include "capture.h"
#include "context.h"
#include "function.h"

namespace keepgraph::sim {
namespace {

std::shared_ptr<ExecBody> build(const Graph& graph) {
    auto body = std::make_shared<ExecBody>();
    body->order = draw_order(graph);
    if (body->order.size() != graph.nodes.size())
        return nullptr;
    body->nodes.reserve(graph.nodes.size());
    body->position.reserve(graph.nodes.size());
    for (const Node* node : graph.nodes) {
        body->position[handle_of<CUgraphNode>(node)] = static_cast<unsigned>(body->nodes.size());
        ExecNode& copy = body->nodes.emplace_back();
        copy.work = node->work;
        if (const auto* child = std::get_if<ChildWork>(&node->work)) {
            copy.child = build(*child->graph);
            if (copy.child == nullptr)
                return nullptr;
        }
    }
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
        for (const Dependency& edge : graph.nodes[i]->after) {
            body->nodes[i].after.push_back(body->position[handle_of<CUgraphNode>(edge.node)]);
        }
    }
    return body;
}

constexpr cuuint64_t known_flags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                                   CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |
                                   CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

CUresult instantiate(CUgraphExec* out, CUgraph handle, cuuint64_t flags) {
    if (out == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    SIM_CONTEXT(context);
    (void)context;
    const Locked lock;
    if (const CUresult code = unsafe_call(); code != CUDA_SUCCESS)
        return code;
    auto* graph = find<Graph>(handle);
    if (graph == nullptr || (flags & ~known_flags) != 0 || graph->owner != nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    const bool memory = has_memory_nodes(*graph);
    if (memory && graph->live_execs != 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    auto body = build(*graph);
    if (body == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    Exec* exec = pool<Exec>().take();
    exec->body = std::move(body);
    exec->flags = flags;
    if (memory) {
        exec->source = graph;
        exec->source_id = graph->id;
        ++graph->live_execs;
    }
    exec->user_objects = graph->user_objects;
    retain(exec->user_objects);
    *out = handle_of<CUgraphExec>(exec);
    return CUDA_SUCCESS;
}

CUresult instantiate_old(CUgraphExec* out, CUgraph graph, CUgraphNode* error_node, char* log, size_t log_size) {
    const CUresult code = instantiate(out, graph, 0);
    if (error_node != nullptr)
        *error_node = nullptr;
    if (log != nullptr && log_size != 0)
        *log = 0;
    return code;
}

CUresult run_all(const ExecBody& body) {
    for (const unsigned position : body.order) {
        const ExecNode& node = body.nodes[position];
        if (!node.enabled)
            continue;
        const CUresult code = node.child != nullptr ? run_all(*node.child) : run(node.work);
        if (code != CUDA_SUCCESS)
            return code;
    }
    return CUDA_SUCCESS;
}

CUresult launch(CUgraphExec handle, CUstream stream_handle) {
    SIM_CONTEXT(context);
    std::shared_ptr<ExecBody> body;
    {
        const Locked lock;
        const auto* exec = find<Exec>(handle);
        if (exec == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        Stream* stream = stream_of(stream_handle);
        if (stream == nullptr)
            return CUDA_ERROR_INVALID_HANDLE;
        if (stream->capture != nullptr) {
            if (stream->capture->invalidated)
                return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
            // In every mode, as measured; it is not captured as a child graph.
            invalidate(*stream->capture);
            return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
        if (const CUresult code = check_legacy(stream); code != CUDA_SUCCESS)
            return code;
        body = exec->body;
    }
    if (context->lost != CUDA_SUCCESS)
        return context->lost;
    return run_all(*body);
}

}  // namespace

ExecNode* find_node(ExecBody& body, CUgraphNode node) {
    const auto found = body.position.find(node);
    if (found != body.position.end())
        return &body.nodes[found->second];
    for (ExecNode& candidate : body.nodes) {
        if (candidate.child == nullptr)
            continue;
        if (ExecNode* inner = find_node(*candidate.child, node))
            return inner;
    }
    return nullptr;
}

}  // namespace keepgraph::sim

using namespace keepgraph::sim;

SIM_EXPORT CUresult cuGraphInstantiate(CUgraphExec* out, CUgraph graph, CUgraphNode* error_node, char* log,
                                       size_t log_size) {
    SIM_ENTER(cuGraphInstantiate);
    return instantiate_old(out, graph, error_node, log, log_size);
}

SIM_EXPORT CUresult cuGraphInstantiate_v2(CUgraphExec* out, CUgraph graph, CUgraphNode* error_node, char* log,
                                          size_t log_size) {
    SIM_ENTER(cuGraphInstantiate_v2);
    return instantiate_old(out, graph, error_node, log, log_size);
}

SIM_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec* out, CUgraph graph, unsigned long long flags) {
    SIM_ENTER(cuGraphInstantiateWithFlags);
    return instantiate(out, graph, flags);
}

SIM_EXPORT CUresult cuGraphInstantiateWithParams(CUgraphExec* out, CUgraph graph,
                                                 CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
    SIM_ENTER(cuGraphInstantiateWithParams);
    if (params == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    const CUresult code = instantiate(out, graph, params->flags);
    params->hErrNode_out = nullptr;
    params->result_out = code == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
    return code;
}

SIM_EXPORT CUresult cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t* flags) {
    SIM_ENTER(cuGraphExecGetFlags);
    const Locked lock;
    const auto* exec = find<Exec>(handle);
    if (exec == nullptr || flags == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = exec->flags;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuGraphUpload(CUgraphExec handle, CUstream stream) {
    SIM_ENTER(cuGraphUpload);
    const Locked lock;
    if (find<Exec>(handle) == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    return stream_of(stream) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

SIM_EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
    SIM_ENTER(cuGraphLaunch);
    return launch(exec, stream);
}

SIM_EXPORT CUresult cuGraphExecDestroy(CUgraphExec handle) {
    SIM_ENTER(cuGraphExecDestroy);
    std::vector<UserObject> dead;
    {
        const Locked lock;
        auto* exec = find<Exec>(handle);
        if (exec == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        if (const CUresult code = unsafe_call(); code != CUDA_SUCCESS)
            return code;
        // The template may have died, and its handle may be another one's by now.
        if (exec->source != nullptr && exec->source->id == exec->source_id)
            --exec->source->live_execs;
        let_go(exec->user_objects, &dead);
        pool<Exec>().give(exec);
    }
    call_destroyers(dead);
    return CUDA_SUCCESS;
}
