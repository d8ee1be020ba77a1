// SPDX-License-Identifier: Apache-2.0
//
// What happens around a call of the program. Each handler gets the name of the row and the real function first.
// Compiled without exceptions; no object with a destructor lives across a real call, so that thread cancellation and
// foreign exceptions pass through these frames.
#pragma once

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

// ---- calls that only have to reach the driver: nothing is learnt from them yet

template <class Real, class... Arguments>
CUresult forward(const char*, Real real, Arguments... arguments) {
    return real(arguments...);
}

// ---- executable graphs

template <class Real, class... Arguments>
CUresult instantiate(const char*, Real real, CUgraphExec* exec, CUgraph graph, Arguments... arguments) {
    const CUresult result = real(exec, graph, arguments...);
    if (result == CUDA_SUCCESS && exec != nullptr)
        session::instantiated(*exec, graph);
    return result;
}

template <class Real>
CUresult launch(const char*, Real real, CUgraphExec exec, CUstream stream) {
    if (!session::may_launch(exec))
        return CUDA_ERROR_ILLEGAL_STATE;
    return real(exec, stream);
}

template <class Real>
CUresult exec_destroy(const char*, Real real, CUgraphExec exec) {
    session::destroying(exec);
    return real(exec);
}

template <class Real, class... Arguments>
CUresult exec_update(const char*, Real real, CUgraphExec exec, CUgraph graph, Arguments... arguments) {
    const CUresult result = real(exec, graph, arguments...);
    if (result == CUDA_SUCCESS)
        session::updated(exec, graph);
    return result;
}

template <class Real, class... Arguments>
CUresult exec_change(const char*, Real real, CUgraphExec exec, Arguments... arguments) {
    const CUresult result = real(exec, arguments...);
    if (result == CUDA_SUCCESS)
        session::changed(exec);
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
        session::born(name, address, size);
    return result;
}

template <class Real, class Pointer, class... Arguments>
CUresult free_memory(const char* name, Real real, Pointer address, Arguments... arguments) {
    void* const dying = session::freeing(name, (std::uintptr_t)address);
    const CUresult result = real(address, arguments...);
    if (dying != nullptr)
        session::freed(dying);
    return result;
}

template <class Real>
CUresult unmap(const char* name, Real real, CUdeviceptr address, std::size_t size) {
    void* const dying = session::freeing_range(name, address, size);
    const CUresult result = real(address, size);
    if (dying != nullptr)
        session::freed(dying);
    return result;
}

// ---- code

template <class Real, class Handle>
CUresult unload(const char*, Real real, Handle handle) {
    const CUresult result = real(handle);
    session::code_unloaded();
    return result;
}

}  // namespace keepgraph::preload::intercept
