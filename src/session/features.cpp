// SPDX-License-Identifier: Apache-2.0
#include "session/features.h"

#include <atomic>

#include "session/session.h"

namespace keepgraph::session {
namespace {

std::atomic<const char* const*> lacking{nullptr};

}  // namespace

void driver_lacks(const char* const* names) noexcept {
    lacking.store(names, std::memory_order_release);
}

std::vector<std::string> features_off(const driver::Api& api) {
    std::vector<std::string> lines;
    if (const char* const* name = lacking.load(std::memory_order_acquire))
        for (; *name != nullptr; ++name)
            lines.push_back(std::string("libcuda has no ") + *name +
                            ": what the program does by another function in its place is not seen");
    const auto need = [&](bool there, const char* name, const char* off) {
        if (!there)
            lines.push_back(std::string("libcuda has no ") + name + ": " + off);
    };
    need(api.cuPointerGetAttribute != nullptr, "cuPointerGetAttribute", "allocations are unknown, no input is checked");
    need(api.cuGraphGetNodes != nullptr && api.cuGraphNodeGetType != nullptr, "cuGraphGetNodes or cuGraphNodeGetType",
         "graphs are not looked into, no input is checked");
    need(api.cuGraphKernelNodeGetParams_v2 != nullptr, "cuGraphKernelNodeGetParams_v2",
         "kernel nodes are not looked into and count as opaque");
    // Kernels of a library (CUkernel) and of a module come to the graph by different ways, so both are needed.
    need(api.cuFuncGetParamInfo != nullptr && api.cuKernelGetParamInfo != nullptr,
         "cuFuncGetParamInfo or cuKernelGetParamInfo (12.4)",
         "arguments of kernels are not looked into, such nodes count as opaque");
    need(api.cuGraphMemcpyNodeGetParams != nullptr, "cuGraphMemcpyNodeGetParams",
         "memcpy nodes are not looked into and count as opaque");
    need(api.cuGraphMemsetNodeGetParams != nullptr, "cuGraphMemsetNodeGetParams",
         "memset nodes are not looked into and count as opaque");
    need(api.cuGraphChildGraphNodeGetGraph != nullptr, "cuGraphChildGraphNodeGetGraph",
         "child graphs are not looked into and count as opaque");
    need(api.cuGraphGetEdges_v2 != nullptr || api.cuGraphGetEdges != nullptr, "cuGraphGetEdges",
         "edges are not recorded");
    need(api.cuThreadExchangeStreamCaptureMode != nullptr, "cuThreadExchangeStreamCaptureMode",
         "a graph that is read while this thread captures may end that capture");
    return lines;
}

}  // namespace keepgraph::session
