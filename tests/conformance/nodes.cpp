// SPDX-License-Identifier: Apache-2.0
// What the getters say about nodes, and about functions.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "fixture.h"

using namespace conformance;

namespace {

struct CopyStruct {
    CUdeviceptr in, out;
    int n, pad;
};

CUgraphNode only_node(CUgraph graph) {
    CUgraphNode node = nullptr;
    size_t count = 1;
    MUST(CU(cuGraphGetNodes)(graph, &node, &count));
    return node;
}

/// Captures one launch and hands its node over.
template <class Launch, class Use>
void captured(Launch launch, Use use) {
    const Stream stream;
    begin(stream);
    MUST(launch(static_cast<CUstream>(stream)));
    CUgraph graph = nullptr;
    MUST(CU(cuStreamEndCapture)(static_cast<CUstream>(stream), &graph));
    use(only_node(graph));
    MUST(CU(cuGraphDestroy)(graph));
}

void describe(Out& out, CUgraphNode node) {
    CUDA_KERNEL_NODE_PARAMS params = {};
    out("get", CU(cuGraphKernelNodeGetParams_v2)(node, &params));
    out("func", params.func != nullptr);
    out("kern", params.kern != nullptr);
    out("is_primary", params.ctx == primary());
    out("grid", params.gridDimX);
    out("block", params.blockDimX);
    out("shared", params.sharedMemBytes);
    out("kernel_params", params.kernelParams != nullptr);
    out("extra", params.extra != nullptr);
}

}  // namespace

PROBE("nodes.kernel_params") {
    const Buffer x;
    FillParams fill(x, 3);
    captured(
        [&](CUstream stream) {
            return CU(cuLaunchKernel)(kernel("kg_fill"), 2u, 1u, 1u, 32u, 1u, 1u, 16u, stream, fill.pointers, nullptr);
        },
        [&](CUgraphNode node) {
            // The driver has its own copy.
            fill.value = 9;
            fill.out = 0;
            describe(out, node);
            CUDA_KERNEL_NODE_PARAMS params = {};
            MUST(CU(cuGraphKernelNodeGetParams_v2)(node, &params));
            out("function", params.func == kernel("kg_fill"));
            CUdeviceptr to = 0;
            float value = 0;
            std::memcpy(&to, params.kernelParams[0], sizeof to);
            std::memcpy(&value, params.kernelParams[1], sizeof value);
            out("own_copy", params.kernelParams != fill.pointers && params.kernelParams[0] != fill.pointers[0]);
            out("address", to == static_cast<CUdeviceptr>(x));
            out("value", static_cast<long long>(value));
            CUDA_KERNEL_NODE_PARAMS_v1 older = {};
            out("v1", CU(cuGraphKernelNodeGetParams)(node, &older));
            out("same", older.kernelParams == params.kernelParams);
        });
}
PROBE("nodes.extra") {
    const Buffer x;
    struct {
        CUdeviceptr out;
        float value;
        int n;
    } packed = {x, 3, 64};
    size_t size = sizeof packed;
    // The program's order is not the order that comes back.
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    captured(
        [&](CUstream stream) {
            return CU(cuLaunchKernel)(kernel("kg_fill"), 1u, 1u, 1u, 64u, 1u, 1u, 0u, stream, nullptr, extra);
        },
        [&](CUgraphNode node) {
            packed.out = 0;
            describe(out, node);
            CUDA_KERNEL_NODE_PARAMS params = {};
            MUST(CU(cuGraphKernelNodeGetParams_v2)(node, &params));
            if (params.extra == nullptr)
                return;
            out("key_0", static_cast<long long>(reinterpret_cast<uintptr_t>(params.extra[0])));
            out("key_2", static_cast<long long>(reinterpret_cast<uintptr_t>(params.extra[2])));
            out("end", params.extra[4] == CU_LAUNCH_PARAM_END);
            for (int i = 0; i < 4; i += 2) {
                if (params.extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
                    out("size", static_cast<long long>(*static_cast<size_t*>(params.extra[i + 1])));
                } else {
                    CUdeviceptr to = 0;
                    std::memcpy(&to, params.extra[i + 1], sizeof to);
                    out("address", to == static_cast<CUdeviceptr>(x));
                }
            }
        });
}
PROBE("nodes.extra_by_hand") {
    const Buffer x;
    struct {
        CUdeviceptr out;
        float value;
        int n;
    } packed = {x, 6, 64};
    size_t size = sizeof packed;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    auto params = kernel_params(kernel("kg_fill"), nullptr);
    params.extra = extra;
    Graph graph;
    CUgraphNode node = nullptr;
    out("add", CU(cuGraphAddKernelNode_v2)(&node, static_cast<CUgraph>(graph), nullptr, size_t{0}, &params));
    describe(out, node);
    const Exec exec(graph);
    out("run", exec.run());
    out("value", static_cast<long long>(x.first()));
    // Both forms at once.
    FillParams fill(x, 1);
    params.kernelParams = fill.pointers;
    out("both", CU(cuGraphAddKernelNode_v2)(&node, static_cast<CUgraph>(graph), nullptr, size_t{0}, &params));
}
PROBE("nodes.struct_by_value") {
    const Buffer x, y;
    CopyStruct value = {x, y, 64, 0};
    void* parameters[] = {&value};
    captured(
        [&](CUstream stream) {
            return CU(cuLaunchKernel)(kernel("kg_copy_struct"), 1u, 1u, 1u, 64u, 1u, 1u, 0u, stream, parameters,
                                      nullptr);
        },
        [&](CUgraphNode node) {
            CUDA_KERNEL_NODE_PARAMS params = {};
            MUST(CU(cuGraphKernelNodeGetParams_v2)(node, &params));
            CopyStruct found = {};
            std::memcpy(&found, params.kernelParams[0], sizeof found);
            out("in", found.in == value.in);
            out("out", found.out == value.out);
            size_t offset = 9, size = 0;
            out("param_0", CU(cuFuncGetParamInfo)(params.func, size_t{0}, &offset, &size));
            out("offset", static_cast<long long>(offset));
            out("size", static_cast<long long>(size));
            out("param_1", CU(cuFuncGetParamInfo)(params.func, size_t{1}, &offset, &size));
        });
}
PROBE("nodes.no_parameters") {
    captured(
        [&](CUstream stream) {
            return CU(cuLaunchKernel)(kernel("kg_empty"), 1u, 1u, 1u, 1u, 1u, 1u, 0u, stream, nullptr, nullptr);
        },
        [&](CUgraphNode node) {
            describe(out, node);
            CUDA_KERNEL_NODE_PARAMS params = {};
            MUST(CU(cuGraphKernelNodeGetParams_v2)(node, &params));
            size_t offset = 0, size = 0;
            out("param_0", CU(cuFuncGetParamInfo)(params.func, size_t{0}, &offset, &size));
        });
}
PROBE("nodes.library_kernel") {
    CUlibrary library = nullptr;
    CUkernel handle = nullptr;
    CUfunction function = nullptr;
    MUST(CU(cuLibraryLoadData)(&library, static_cast<const void*>(ptx), nullptr, nullptr, 0u, nullptr, nullptr, 0u));
    out("get", CU(cuLibraryGetKernel)(&handle, library, "kg_fill"));
    out("unknown", CU(cuLibraryGetKernel)(&handle, library, "kg_no_such"));
    MUST(CU(cuLibraryGetKernel)(&handle, library, "kg_fill"));
    out("function", CU(cuKernelGetFunction)(&function, handle));
    const char* name = nullptr;
    out("kernel_name", CU(cuKernelGetName)(&name, handle));
    out("name", name != nullptr ? name : "null");
    size_t offset = 0, size = 0;
    out("kernel_param", CU(cuKernelGetParamInfo)(handle, size_t{1}, &offset, &size));
    out("offset", static_cast<long long>(offset));
    const Buffer x;
    FillParams fill(x, 2);
    captured(
        [&](CUstream stream) {
            return CU(cuLaunchKernel)(reinterpret_cast<CUfunction>(handle), 1u, 1u, 1u, 64u, 1u, 1u, 0u, stream,
                                      fill.pointers, nullptr);
        },
        [&](CUgraphNode node) {
            describe(out, node);
            CUDA_KERNEL_NODE_PARAMS params = {};
            MUST(CU(cuGraphKernelNodeGetParams_v2)(node, &params));
            out("same_kernel", params.kern == handle);
            out("same_function", params.func == function);
        });
    captured(
        [&](CUstream stream) {
            return CU(cuLaunchKernel)(function, 1u, 1u, 1u, 64u, 1u, 1u, 0u, stream, fill.pointers, nullptr);
        },
        [&](CUgraphNode node) { describe(out, node); });
    MUST(CU(cuLibraryUnload)(library));
}
PROBE("nodes.parameter_layout") {
    for (const char* name : {"kg_fill", "kg_add", "kg_scale", "kg_copy_struct", "kg_count", "kg_sum2", "kg_slow",
                             "kg_empty", "_Z8kg_twiceIfEvPKT_PS0_i"}) {
        std::string layout;
        for (size_t i = 0;; ++i) {
            size_t offset = 0, size = 0;
            const CUresult code = CU(cuFuncGetParamInfo)(kernel(name), i, &offset, &size);
            if (code != CUDA_SUCCESS) {
                layout += "end:" + std::to_string(code);
                break;
            }
            layout += std::to_string(offset) + ":" + std::to_string(size) + ",";
        }
        out(name, layout);
    }
    const char* found = nullptr;
    out("name", CU(cuFuncGetName)(&found, kernel("kg_add")));
    out("is", found != nullptr ? found : "null");
    CUmodule module = nullptr;
    out("module", CU(cuFuncGetModule)(&module, kernel("kg_add")));
    out("is_module", module == kernels());
    CUfunction function = nullptr;
    out("unknown", CU(cuModuleGetFunction)(&function, kernels(), "kg_no_such"));
}
PROBE("nodes.memcpy") {
    const Buffer x, y;
    captured(
        [&](CUstream stream) {
            return CU(cuMemcpyDtoDAsync_v2)(static_cast<CUdeviceptr>(y), static_cast<CUdeviceptr>(x), size_t{128},
                                            stream);
        },
        [&](CUgraphNode node) {
            CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
            MUST(CU(cuGraphNodeGetType)(node, &type));
            out("type", type);
            CUDA_MEMCPY3D params = {};
            out("get", CU(cuGraphMemcpyNodeGetParams)(node, &params));
            out("src_type", params.srcMemoryType);
            out("dst_type", params.dstMemoryType);
            out("src", params.srcDevice == static_cast<CUdeviceptr>(x));
            out("dst", params.dstDevice == static_cast<CUdeviceptr>(y));
            out("width", static_cast<long long>(params.WidthInBytes));
            out("height", static_cast<long long>(params.Height));
            out("depth", static_cast<long long>(params.Depth));
        });
}
PROBE("nodes.memcpy_host") {
    const Buffer x;
    float host[64] = {};
    captured(
        [&](CUstream stream) {
            return CU(cuMemcpyHtoDAsync_v2)(static_cast<CUdeviceptr>(x), static_cast<const void*>(host), size_t{128},
                                            stream);
        },
        [&](CUgraphNode node) {
            CUDA_MEMCPY3D params = {};
            out("get", CU(cuGraphMemcpyNodeGetParams)(node, &params));
            out("src_type", params.srcMemoryType);
            out("dst_type", params.dstMemoryType);
            out("src", params.srcHost == host);
            out("dst", params.dstDevice == static_cast<CUdeviceptr>(x));
        });
    captured(
        [&](CUstream stream) {
            return CU(cuMemcpyAsync)(static_cast<CUdeviceptr>(x), reinterpret_cast<CUdeviceptr>(host), size_t{128},
                                     stream);
        },
        [&](CUgraphNode node) {
            CUDA_MEMCPY3D params = {};
            out("unified", CU(cuGraphMemcpyNodeGetParams)(node, &params));
            out("src_type", params.srcMemoryType);
            out("dst_type", params.dstMemoryType);
            out("src_device", params.srcDevice == reinterpret_cast<CUdeviceptr>(host));
            out("src_host", params.srcHost == host);
        });
}
PROBE("nodes.memset") {
    const Buffer x;
    captured([&](CUstream stream) { return CU(cuMemsetD32Async)(static_cast<CUdeviceptr>(x), 7u, size_t{16}, stream); },
             [&](CUgraphNode node) {
                 CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
                 MUST(CU(cuGraphNodeGetType)(node, &type));
                 out("type", type);
                 CUDA_MEMSET_NODE_PARAMS params = {};
                 out("get", CU(cuGraphMemsetNodeGetParams)(node, &params));
                 out("dst", params.dst == static_cast<CUdeviceptr>(x));
                 out("value", params.value);
                 out("element", params.elementSize);
                 out("width", static_cast<long long>(params.width));
                 out("height", static_cast<long long>(params.height));
             });
}
PROBE("nodes.host") {
    int data = 0;
    const CUhostFn function = [](void* user) { ++*static_cast<int*>(user); };
    captured([&](CUstream stream) { return CU(cuLaunchHostFunc)(stream, function, static_cast<void*>(&data)); },
             [&](CUgraphNode node) {
                 CUDA_HOST_NODE_PARAMS params = {};
                 out("get", CU(cuGraphHostNodeGetParams)(node, &params));
                 out("function", params.fn == function);
                 out("data", params.userData == &data);
                 out("called", data);
             });
}
PROBE("nodes.child") {
    const Buffer x;
    Graph inner, outer;
    inner.fill(x, 1);
    const CUgraphNode node = outer.child(inner);
    CUgraph found = nullptr;
    out("get", CU(cuGraphChildGraphNodeGetGraph)(node, &found));
    out("is_a_copy", found != nullptr && found != static_cast<CUgraph>(inner));
    inner.fill(x, 2);
    out("nodes", static_cast<long long>(node_count(found)));
}
PROBE("nodes.memory") {
    Graph graph;
    CUDA_MEM_ALLOC_NODE_PARAMS params = {}, got = {};
    params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    params.bytesize = 1000;
    CUgraphNode alloc = nullptr, free = nullptr;
    MUST(CU(cuGraphAddMemAllocNode)(&alloc, static_cast<CUgraph>(graph), nullptr, size_t{0}, &params));
    MUST(CU(cuGraphAddMemFreeNode)(&free, static_cast<CUgraph>(graph), &alloc, size_t{1}, params.dptr));
    out("alloc", CU(cuGraphMemAllocNodeGetParams)(alloc, &got));
    out("same_address", got.dptr == params.dptr);
    out("size", static_cast<long long>(got.bytesize));
    CUdeviceptr address = 0;
    out("free", CU(cuGraphMemFreeNodeGetParams)(free, &address));
    out("same_address", address == params.dptr);
    out("destroy_node", CU(cuGraphDestroyNode)(free));
}
PROBE("nodes.batch") {
    const Buffer x;
    CUstreamBatchMemOpParams operation = {};
    operation.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operation.writeValue.address = x;
    operation.writeValue.value = 0x40a00000u;  // 5.0f
    CUDA_BATCH_MEM_OP_NODE_PARAMS params = {}, got = {};
    params.ctx = primary();
    params.count = 1;
    params.paramArray = &operation;
    Graph graph;
    CUgraphNode node = nullptr;
    out("add", CU(cuGraphAddBatchMemOpNode)(&node, static_cast<CUgraph>(graph), nullptr, size_t{0}, &params));
    out("get", CU(cuGraphBatchMemOpNodeGetParams)(node, &got));
    out("count", got.count);
    out("own_copy", got.paramArray != &operation);
    out("address", got.count == 1 && got.paramArray[0].writeValue.address == static_cast<CUdeviceptr>(x));
    const Exec exec(graph);
    out("run", exec.run());
    out("value", static_cast<long long>(x.first()));
}
PROBE("nodes.wrong_type") {
    Graph graph;
    const CUgraphNode node = graph.empty();
    CUDA_KERNEL_NODE_PARAMS kernel = {};
    CUDA_MEMCPY3D copy = {};
    CUDA_MEMSET_NODE_PARAMS memset = {};
    CUDA_HOST_NODE_PARAMS host = {};
    CUgraph child = nullptr;
    CUevent event = nullptr;
    out("kernel", CU(cuGraphKernelNodeGetParams_v2)(node, &kernel));
    out("memcpy", CU(cuGraphMemcpyNodeGetParams)(node, &copy));
    out("memset", CU(cuGraphMemsetNodeGetParams)(node, &memset));
    out("host", CU(cuGraphHostNodeGetParams)(node, &host));
    out("child", CU(cuGraphChildGraphNodeGetGraph)(node, &child));
    out("record", CU(cuGraphEventRecordNodeGetEvent)(node, &event));
    out("wait", CU(cuGraphEventWaitNodeGetEvent)(node, &event));
}
PROBE("nodes.lists") {
    Graph graph;
    const CUgraphNode a = graph.empty(), b = graph.empty(a), c = graph.empty(a);
    graph.empty(c);
    CUgraphNode nodes[8];
    std::fill(nodes, nodes + 8, a);
    size_t count = 8;
    out("nodes", CU(cuGraphGetNodes)(static_cast<CUgraph>(graph), nodes, &count));
    out("count", static_cast<long long>(count));
    out("in_order", nodes[0] == a && nodes[1] == b && nodes[2] == c);
    out("rest_is_null", nodes[4] == nullptr && nodes[7] == nullptr);
    count = 2;
    out("two", CU(cuGraphGetNodes)(static_cast<CUgraph>(graph), nodes, &count));
    out("count", static_cast<long long>(count));
    CUgraphNode from[8], to[8];
    CUgraphEdgeData data[8];
    count = 8;
    out("edges", CU(cuGraphGetEdges_v2)(static_cast<CUgraph>(graph), from, to, data, &count));
    out("count", static_cast<long long>(count));
    out("plain", data[0].type == 0 && data[0].from_port == 0);
    count = 8;
    out("edges_v1", CU(cuGraphGetEdges)(static_cast<CUgraph>(graph), from, to, &count));
    out("count", static_cast<long long>(count));
    count = 1;
    out("one_edge", CU(cuGraphGetEdges)(static_cast<CUgraph>(graph), from, to, &count));
    out("count", static_cast<long long>(count));
    count = 8;
    out("dependents", CU(cuGraphNodeGetDependentNodes)(a, nodes, &count));
    out("count", static_cast<long long>(count));
    count = 8;
    out("dependencies", CU(cuGraphNodeGetDependencies_v2)(b, nodes, data, &count));
    out("count", static_cast<long long>(count));
    out("is_a", nodes[0] == a);
}
// A node's incoming edges, added against the order in which their nodes were made.
PROBE("nodes.order_of_edges") {
    Graph graph;
    const CUgraphNode a = graph.empty(), b = graph.empty(), c = graph.empty();
    for (const CUgraphNode from : {b, a})
        MUST(CU(cuGraphAddDependencies)(static_cast<CUgraph>(graph), &from, &c, size_t{1}));
    CUgraphNode nodes[2] = {}, to[2] = {};
    CUgraphEdgeData data[2];
    size_t count = 2;
    out("dependencies", CU(cuGraphNodeGetDependencies_v2)(c, nodes, data, &count));
    out("as_added", nodes[0] == b && nodes[1] == a);
    out("dependencies_v1", CU(cuGraphNodeGetDependencies)(c, nodes, &count));
    out("as_added", nodes[0] == b && nodes[1] == a);
    out("edges", CU(cuGraphGetEdges_v2)(static_cast<CUgraph>(graph), nodes, to, data, &count));
    out("as_added", nodes[0] == b && nodes[1] == a);
}
PROBE("nodes.dot") {
    char path[] = "/tmp/keepgraph-conformance-XXXXXX";
    const int file = mkstemp(path);
    const Buffer x;
    Graph graph;
    graph.fill(x, 2, graph.fill(x, 1));
    out("print", CU(cuGraphDebugDotPrint)(static_cast<CUgraph>(graph), path, 0u));
    std::string text(1 << 16, 0);
    const ssize_t length = read(file, text.data(), text.size());
    text.resize(length > 0 ? static_cast<size_t>(length) : 0);
    out("digraph", text.find("digraph") != std::string::npos);
    out("name", text.find("kg_fill") != std::string::npos);
    out("edge", text.find("->") != std::string::npos);
    out("no_folder", CU(cuGraphDebugDotPrint)(static_cast<CUgraph>(graph), "/no/such/folder/file", 0u));
    close(file);
    unlink(path);
}
