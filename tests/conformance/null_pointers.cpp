// SPDX-License-Identifier: Apache-2.0
// Null where a pointer is wanted. One question a probe: where the real driver follows the pointer, only this line is
// lost. Not here, because driver 580 crashed: cuGetProcAddress (both forms, symbol and pfn),
// cuThreadExchangeStreamCaptureMode.
#include "fixture.h"

using namespace conformance;

namespace {

const CUgraph no_graph = nullptr;
const CUstream default_stream = nullptr;
constexpr size_t none = 0;

struct Question {
    const char* name;
    CUresult (*ask)();
};

template <class Use>
CUresult with_node(Use use) {
    const Buffer buffer;
    Graph graph;
    const CUgraphNode node = graph.fill(buffer, 1);
    return use(static_cast<CUgraph>(graph), node);
}

template <class Use>
CUresult with_exec(Use use) {
    const Buffer buffer;
    Graph graph;
    const CUgraphNode node = graph.fill(buffer, 1);
    const Exec exec(graph);
    return use(static_cast<CUgraphExec>(exec), node);
}

const Question questions[] = {
    {"cuMemAlloc_v2.dptr", [] { return CU(cuMemAlloc_v2)(nullptr, size_t{256}); }},
    {"cuMemAllocManaged.dptr", [] { return CU(cuMemAllocManaged)(nullptr, size_t{256}, 1u); }},
    {"cuMemAllocPitch_v2.dptr",
     [] {
         size_t pitch = 0;
         return CU(cuMemAllocPitch_v2)(nullptr, &pitch, size_t{64}, size_t{1}, 4u);
     }},
    {"cuMemAllocHost_v2.pp", [] { return CU(cuMemAllocHost_v2)(nullptr, size_t{256}); }},
    {"cuMemHostAlloc.pp", [] { return CU(cuMemHostAlloc)(nullptr, size_t{256}, 0u); }},
    {"cuMemFreeHost.p", [] { return CU(cuMemFreeHost)(nullptr); }},
    {"cuMemAllocAsync.dptr", [] { return CU(cuMemAllocAsync)(nullptr, size_t{256}, default_stream); }},
    {"cuMemAllocAsync_ptsz.dptr", [] { return CU(cuMemAllocAsync_ptsz)(nullptr, size_t{256}, default_stream); }},
    {"cuPointerGetAttribute.data",
     [] {
         const Buffer buffer;
         return CU(cuPointerGetAttribute)(nullptr, CU_POINTER_ATTRIBUTE_BUFFER_ID, static_cast<CUdeviceptr>(buffer));
     }},
    {"cuStreamIsCapturing.status", [] { return CU(cuStreamIsCapturing)(default_stream, nullptr); }},
    {"cuStreamGetCaptureInfo.status", [] { return CU(cuStreamGetCaptureInfo)(default_stream, nullptr, nullptr); }},
    {"cuStreamEndCapture.graph",
     [] {
         const Stream stream;
         return CU(cuStreamEndCapture)(static_cast<CUstream>(stream), nullptr);
     }},
    {"cuGraphCreate.graph", [] { return CU(cuGraphCreate)(nullptr, 0u); }},
    {"cuGraphAddEmptyNode.node",
     [] {
         const Graph graph;
         return CU(cuGraphAddEmptyNode)(nullptr, static_cast<CUgraph>(graph), nullptr, none);
     }},
    {"cuGraphAddEmptyNode.dependencies",
     [] {
         const Graph graph;
         CUgraphNode node = nullptr;
         return CU(cuGraphAddEmptyNode)(&node, static_cast<CUgraph>(graph), nullptr, size_t{1});
     }},
    {"cuGraphAddKernelNode_v2.params",
     [] {
         const Graph graph;
         CUgraphNode node = nullptr;
         return CU(cuGraphAddKernelNode_v2)(&node, static_cast<CUgraph>(graph), nullptr, none, nullptr);
     }},
    {"cuGraphAddNode_v2.params",
     [] {
         const Graph graph;
         CUgraphNode node = nullptr;
         return CU(cuGraphAddNode_v2)(&node, static_cast<CUgraph>(graph), nullptr, nullptr, none, nullptr);
     }},
    {"cuGraphAddChildGraphNode.child",
     [] {
         const Graph graph;
         CUgraphNode node = nullptr;
         return CU(cuGraphAddChildGraphNode)(&node, static_cast<CUgraph>(graph), nullptr, none, no_graph);
     }},
    {"cuGraphAddEventRecordNode.event",
     [] {
         const Graph graph;
         CUgraphNode node = nullptr;
         return CU(cuGraphAddEventRecordNode)(&node, static_cast<CUgraph>(graph), nullptr, none, nullptr);
     }},
    {"cuGraphGetNodes.count",
     [] { return with_node([](CUgraph graph, CUgraphNode) { return CU(cuGraphGetNodes)(graph, nullptr, nullptr); }); }},
    {"cuGraphGetNodes.graph",
     [] {
         size_t count = 0;
         return CU(cuGraphGetNodes)(no_graph, nullptr, &count);
     }},
    {"cuGraphGetEdges_v2.graph",
     [] {
         size_t count = 0;
         return CU(cuGraphGetEdges_v2)(no_graph, nullptr, nullptr, nullptr, &count);
     }},
    {"cuGraphNodeGetType.type",
     [] { return with_node([](CUgraph, CUgraphNode node) { return CU(cuGraphNodeGetType)(node, nullptr); }); }},
    {"cuGraphNodeGetType.node",
     [] {
         CUgraphNodeType type;
         return CU(cuGraphNodeGetType)(nullptr, &type);
     }},
    {"cuGraphKernelNodeGetParams_v2.params",
     [] {
         return with_node([](CUgraph, CUgraphNode node) { return CU(cuGraphKernelNodeGetParams_v2)(node, nullptr); });
     }},
    {"cuGraphKernelNodeGetParams_v2.node",
     [] {
         CUDA_KERNEL_NODE_PARAMS params = {};
         return CU(cuGraphKernelNodeGetParams_v2)(nullptr, &params);
     }},
    {"cuGraphDebugDotPrint.graph", [] { return CU(cuGraphDebugDotPrint)(no_graph, "/dev/null", 0u); }},
    {"cuGraphInstantiateWithFlags.exec",
     [] {
         const Graph graph;
         return CU(cuGraphInstantiateWithFlags)(nullptr, static_cast<CUgraph>(graph), 0ull);
     }},
    {"cuGraphInstantiateWithParams.params",
     [] {
         const Graph graph;
         CUgraphExec exec = nullptr;
         return CU(cuGraphInstantiateWithParams)(&exec, static_cast<CUgraph>(graph), nullptr);
     }},
    {"cuGraphExecUpdate_v2.info",
     [] {
         return with_exec([](CUgraphExec exec, CUgraphNode) {
             const Graph graph;
             return CU(cuGraphExecUpdate_v2)(exec, static_cast<CUgraph>(graph), nullptr);
         });
     }},
    {"cuGraphExecKernelNodeSetParams_v2.params",
     [] {
         return with_exec([](CUgraphExec exec, CUgraphNode node) {
             return CU(cuGraphExecKernelNodeSetParams_v2)(exec, node, nullptr);
         });
     }},
    {"cuGraphUpload.exec", [] { return CU(cuGraphUpload)(nullptr, default_stream); }},
    {"cuFuncGetParamInfo.size",
     [] {
         size_t offset = 0;
         return CU(cuFuncGetParamInfo)(kernel("kg_add"), size_t{0}, &offset, nullptr);
     }},
    {"cuFuncGetParamInfo.function",
     [] {
         size_t offset = 0, size = 0;
         return CU(cuFuncGetParamInfo)(nullptr, size_t{0}, &offset, &size);
     }},
    {"cuModuleGetFunction.name",
     [] {
         CUfunction function = nullptr;
         return CU(cuModuleGetFunction)(&function, kernels(), nullptr);
     }},
    {"cuModuleLoadData.image",
     [] {
         CUmodule module = nullptr;
         return CU(cuModuleLoadData)(&module, nullptr);
     }},
    {"cuLaunchKernel.function",
     [] { return CU(cuLaunchKernel)(nullptr, 1u, 1u, 1u, 1u, 1u, 1u, 0u, default_stream, nullptr, nullptr); }},
    {"cuEventRecord.event", [] { return CU(cuEventRecord)(nullptr, default_stream); }},
    {"cuStreamWaitEvent.event", [] { return CU(cuStreamWaitEvent)(default_stream, nullptr, 0u); }},
};

const bool registered = [] {
    for (const Question& question : questions) {
        Register(std::string("null.") + question.name, [&question](Out& out) { out("code", question.ask()); });
    }
    return true;
}();

}  // namespace

PROBE("null.cuStreamEndCapture.graph_of_a_capture") {
    end_without_place(out, [](CUstream stream) { return CU(cuStreamEndCapture)(stream, nullptr); });
}
