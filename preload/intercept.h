// SPDX-License-Identifier: Apache-2.0
//
// What happens around a call of the program. Each handler gets the name of the row and the real function first.
// Compiled without exceptions; no object with a destructor lives across a real call, so that thread cancellation and
// foreign exceptions pass through these frames.
#pragma once

#include <cstring>
#include <type_traits>

#include "driver/cuda_types.h"
#include "rows.h"
#include "session/session.h"

namespace keepgraph::preload::intercept {

// ---- look-up

template <class Real>
CUresult get_proc_address_v1(const char*, Real real, const char* symbol, void** pfn, int version, cuuint64_t flags) {
    const CUresult result = real(symbol, pfn, version, flags);
    if (result == CUDA_SUCCESS && pfn != nullptr)
        *pfn = swap(symbol, *pfn);
    return result;
}

template <class Real>
CUresult get_proc_address(const char*, Real real, const char* symbol, void** pfn, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult* status) {
    const CUresult result = real(symbol, pfn, version, flags, status);
    if (result == CUDA_SUCCESS && pfn != nullptr)
        *pfn = swap(symbol, *pfn);
    return result;
}

template <class Real>
CUresult init(const char*, Real real, unsigned int flags) {
    const CUresult result = real(flags);
    if (result == CUDA_SUCCESS)
        session::start();
    return result;
}

// ---- captures

template <class Real, class... Mode>
CUresult capture_begin(const char* name, Real real, CUstream stream, Mode... mode) {
    const CUresult result = real(stream, mode...);
    if (result == CUDA_SUCCESS) {
        if constexpr (sizeof...(mode) == 0)  // the first form of this call had the one mode only
            session::capture_began(name, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
        else
            session::capture_began(name, stream, mode...);
    }
    return result;
}

template <class Real>
CUresult capture_begin_to_graph(const char* name, Real real, CUstream stream, CUgraph graph,
                                const CUgraphNode* dependencies, const CUgraphEdgeData* data, std::size_t count,
                                CUstreamCaptureMode mode) {
    session::template_changing(graph);
    const CUresult result = real(stream, graph, dependencies, data, count, mode);
    if (result == CUDA_SUCCESS)
        session::capture_began(name, stream, mode);
    return result;
}

template <class Real>
CUresult capture_end(const char* name, Real real, CUstream stream, CUgraph* graph) {
    const CUresult result = real(stream, graph);
    session::capture_ended(name, stream, result, result == CUDA_SUCCESS && graph != nullptr ? *graph : nullptr);
    return result;
}

template <class Real>
CUresult stream_destroy(const char*, Real real, CUstream stream) {
    void* const leaving = session::stream_destroying(stream);
    const CUresult result = real(stream);
    session::stream_destroyed(leaving, result == CUDA_SUCCESS);
    return result;
}

// ---- templates

template <class Real, class... Arguments>
CUresult graph_add(const char*, Real real, CUgraphNode* node, CUgraph graph, Arguments... arguments) {
    session::template_changing(graph);
    return real(node, graph, arguments...);
}

template <class Real, class... Arguments>
CUresult graph_change(const char*, Real real, CUgraph graph, Arguments... arguments) {
    session::template_changing(graph);
    return real(graph, arguments...);
}

template <class Real>
CUresult node_destroy(const char*, Real real, CUgraphNode node) {
    session::template_changing(node);
    return real(node);
}

template <class Real>
CUresult graph_destroy(const char*, Real real, CUgraph graph) {
    session::template_changing(graph);
    void* const leaving = session::template_destroying(graph);
    const CUresult result = real(graph);
    session::template_destroyed(leaving, result == CUDA_SUCCESS);
    return result;
}

// ---- executable graphs

template <class Real, class... Arguments>
CUresult instantiate(const char* name, Real real, CUgraphExec* exec, CUgraph graph, Arguments... arguments) {
    const CUresult result = real(exec, graph, arguments...);
    if (result == CUDA_SUCCESS && exec != nullptr)
        session::instantiated(name, *exec, graph);
    return result;
}

template <class Real>
CUresult launch(const char* name, Real real, CUgraphExec exec, CUstream stream) {
    void* launching = nullptr;
    if (!session::may_launch(name, exec, launching))
        return CUDA_ERROR_ILLEGAL_STATE;
    const CUresult result = real(exec, stream);
    if (result == CUDA_SUCCESS)
        session::launched(launching);
    return result;
}

template <class Real>
CUresult exec_destroy(const char*, Real real, CUgraphExec exec) {
    void* const leaving = session::destroying(exec);
    const CUresult result = real(exec);
    session::destroyed(leaving, result == CUDA_SUCCESS);
    return result;
}

template <class Real, class... Arguments>
CUresult exec_update(const char* name, Real real, CUgraphExec exec, CUgraph graph, Arguments... arguments) {
    const CUresult result = real(exec, graph, arguments...);
    if (result == CUDA_SUCCESS)
        session::updated(name, exec, graph);
    return result;
}

template <class Real, class Params, class... Context>
CUresult exec_node_set(const char* name, Real real, CUgraphExec exec, CUgraphNode node, Params params,
                       Context... context) {
    const CUresult result = real(exec, node, params, context...);
    if (result != CUDA_SUCCESS)
        return result;
    if constexpr (std::is_same_v<Params, CUgraph>) {
        session::node_set(name, exec, node, params);
    } else if constexpr (std::is_same_v<Params, const CUDA_KERNEL_NODE_PARAMS_v1*>) {
        CUDA_KERNEL_NODE_PARAMS whole{};  // the old structure is the head of the new one
        std::memcpy(&whole, params, sizeof *params);
        session::node_set(name, exec, node, whole);
    } else {
        session::node_set(name, exec, node, *params);
    }
    return result;
}

template <class Real>
CUresult exec_node_enable(const char* name, Real real, CUgraphExec exec, CUgraphNode node, unsigned int enabled) {
    const CUresult result = real(exec, node, enabled);
    if (result == CUDA_SUCCESS)
        session::node_enabled(name, exec, node, enabled != 0);
    return result;
}

// ---- memory

template <class Real, class Pointer, class... Arguments>
CUresult allocate(const char* name, Real real, Pointer* out, std::size_t size, Arguments... arguments) {
    const CUresult result = real(out, size, arguments...);
    if (result == CUDA_SUCCESS && out != nullptr)
        session::born(name, (std::uintptr_t)*out, size);
    return result;
}

template <class Real>
CUresult allocate_pitch(const char* name, Real real, CUdeviceptr* out, std::size_t* pitch, std::size_t width,
                        std::size_t height, unsigned int element) {
    const CUresult result = real(out, pitch, width, height, element);
    if (result == CUDA_SUCCESS && out != nullptr && pitch != nullptr)
        session::born(name, *out, *pitch * height);
    return result;
}

template <class Real>
CUresult map(const char* name, Real real, CUdeviceptr address, std::size_t size, std::size_t offset,
             CUmemGenericAllocationHandle handle, unsigned long long flags) {
    const CUresult result = real(address, size, offset, handle, flags);
    if (result == CUDA_SUCCESS)
        session::mapped(name, address, size);
    return result;
}

template <class Real, class Pointer, class... Arguments>
CUresult free_memory(const char* name, Real real, Pointer address, Arguments... arguments) {
    void* const dying = session::freeing(name, (std::uintptr_t)address);
    const CUresult result = real(address, arguments...);
    session::freed(name, (std::uintptr_t)address, dying, result == CUDA_SUCCESS);
    return result;
}

template <class Real>
CUresult unmap(const char* name, Real real, CUdeviceptr address, std::size_t size) {
    void* const dying = session::unmapping(name, address, size);
    const CUresult result = real(address, size);
    session::unmapped(name, address, size, dying, result == CUDA_SUCCESS);
    return result;
}

// ---- code

template <class Real, class Handle>
CUresult unload(const char*, Real real, Handle handle) {
    session::code_unloading();
    return real(handle);
}

}  // namespace keepgraph::preload::intercept
