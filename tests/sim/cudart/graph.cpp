// SPDX-License-Identifier: Apache-2.0
//
// Graphs as a whole: made, instantiated, launched, updated, looked at. Their nodes are in graph_nodes.cpp.
#include "runtime.h"

using simrt::keep;

SIMRT_API cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags) {
    SIMRT_FORWARD(driver->cuGraphCreate, graph, flags);
}

SIMRT_API cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    SIMRT_FORWARD(driver->cuGraphDestroy, graph);
}

SIMRT_API cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
    SIMRT_FORWARD(driver->cuGraphClone, clone, graph);
}

SIMRT_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
    SIMRT_FORWARD(driver->cuGraphInstantiateWithFlags, exec, graph, flags);
}

SIMRT_API cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                    unsigned long long flags) {
    SIMRT_FORWARD(driver->cuGraphInstantiateWithFlags, exec, graph, flags);
}

SIMRT_TWIN(cudaGraphInstantiateWithParams, _ptsz,
           (cudaGraphExec_t * exec, cudaGraph_t graph, cudaGraphInstantiateParams* parameters),
           (exec, graph, parameters)) {
    static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS));
    SIMRT_FORWARD(PICK(cuGraphInstantiateWithParams), exec, graph,
                  reinterpret_cast<CUDA_GRAPH_INSTANTIATE_PARAMS*>(parameters));
}

SIMRT_TWIN(cudaGraphUpload, _ptsz, (cudaGraphExec_t exec, cudaStream_t stream), (exec, stream)) {
    SIMRT_FORWARD(PICK(cuGraphUpload), exec, stream);
}

SIMRT_TWIN(cudaGraphLaunch, _ptsz, (cudaGraphExec_t exec, cudaStream_t stream), (exec, stream)) {
    SIMRT_FORWARD(PICK(cuGraphLaunch), exec, stream);
}

SIMRT_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    SIMRT_FORWARD(driver->cuGraphExecDestroy, exec);
}

SIMRT_API cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                          cudaGraphExecUpdateResultInfo* info) {
    static_assert(sizeof(cudaGraphExecUpdateResultInfo) == sizeof(CUgraphExecUpdateResultInfo));
    SIMRT_FORWARD(driver->cuGraphExecUpdate_v2, exec, graph, reinterpret_cast<CUgraphExecUpdateResultInfo*>(info));
}

SIMRT_API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
    SIMRT_FORWARD(driver->cuGraphGetNodes, graph, nodes, count);
}

SIMRT_API cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned int flags) {
    SIMRT_FORWARD(driver->cuGraphDebugDotPrint, graph, path, flags);
}

// cudart 13 gave the edge functions their edge data argument under the old names; 12 has them as _v2.
#if SIMRT_VERSION >= 13000
#define EDGE_SUFFIX ""
#else
#define EDGE_SUFFIX "_v2"
#endif

SIMRT_API cudaError_t simrt_edges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, CUgraphEdgeData* data,
                                  size_t* count) __asm__("cudaGraphGetEdges" EDGE_SUFFIX);
SIMRT_API cudaError_t simrt_edges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, CUgraphEdgeData* data,
                                  size_t* count) {
    SIMRT_FORWARD(driver->cuGraphGetEdges_v2, graph, from, to, data, count);
}

SIMRT_API cudaError_t simrt_add_edges(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                      const CUgraphEdgeData* data,
                                      size_t count) __asm__("cudaGraphAddDependencies" EDGE_SUFFIX);
SIMRT_API cudaError_t simrt_add_edges(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                      const CUgraphEdgeData* data, size_t count) {
    SIMRT_FORWARD(driver->cuGraphAddDependencies_v2, graph, from, to, data, count);
}
