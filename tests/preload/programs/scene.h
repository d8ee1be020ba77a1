// SPDX-License-Identifier: Apache-2.0
// What every hostile program starts from: the driver API found by dlopen and dlsym (so that it runs where nothing is
// linked), one stream, and graphs that read one buffer and write another. Everything is printed by name and code,
// nothing by address, so that two runs can be compared byte for byte.
#pragma once

#include <cuda.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../../programs/kernels.h"

#define SCENE_FUNCTIONS(F)                              \
    F(init, cuInit)                                     \
    F(device_get, cuDeviceGet)                          \
    F(retain, cuDevicePrimaryCtxRetain)                 \
    F(set_current, cuCtxSetCurrent)                     \
    F(module_load, cuModuleLoadData)                    \
    F(get_function, cuModuleGetFunction)                \
    F(alloc, cuMemAlloc_v2)                             \
    F(free, cuMemFree_v2)                               \
    F(to_device, cuMemcpyHtoD_v2)                       \
    F(to_host, cuMemcpyDtoH_v2)                         \
    F(stream_create, cuStreamCreate)                    \
    F(stream_destroy, cuStreamDestroy_v2)               \
    F(synchronize, cuStreamSynchronize)                 \
    F(begin, cuStreamBeginCapture_v2)                   \
    F(end, cuStreamEndCapture)                          \
    F(exchange_mode, cuThreadExchangeStreamCaptureMode) \
    F(launch_kernel, cuLaunchKernel)                    \
    F(launch_host, cuLaunchHostFunc)                    \
    F(launch, cuGraphLaunch)                            \
    F(exec_destroy, cuGraphExecDestroy)                 \
    F(graph_destroy, cuGraphDestroy)                    \
    F(nodes, cuGraphGetNodes)

struct Api {
#define SCENE_MEMBER(member, symbol) decltype(&::symbol) member = nullptr;
    SCENE_FUNCTIONS(SCENE_MEMBER)
#undef SCENE_MEMBER
    decltype(&cuGraphInstantiateWithFlags) instantiate_with_flags = nullptr;
    CUresult (*instantiate_v2)(CUgraphExec*, CUgraph, CUgraphNode*, char*, size_t) = nullptr;

    /// A driver of CUDA 11.0 has the older form alone.
    CUresult instantiate(CUgraphExec* exec, CUgraph graph, unsigned long long flags) const {
        return instantiate_with_flags != nullptr ? instantiate_with_flags(exec, graph, flags)
                                                 : instantiate_v2(exec, graph, nullptr, nullptr, 0);
    }

    bool load() {
        void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            std::printf("no driver\n");
            return false;
        }
        bool complete = true;
#define SCENE_LOAD(member, symbol)                                        \
    member = reinterpret_cast<decltype(member)>(dlsym(library, #symbol)); \
    if (member == nullptr) {                                              \
        std::printf("driver lacks %s\n", #symbol);                        \
        complete = false;                                                 \
    }
        SCENE_FUNCTIONS(SCENE_LOAD)
#undef SCENE_LOAD
        instantiate_with_flags =
            reinterpret_cast<decltype(instantiate_with_flags)>(dlsym(library, "cuGraphInstantiateWithFlags"));
        instantiate_v2 = reinterpret_cast<decltype(instantiate_v2)>(dlsym(library, "cuGraphInstantiate_v2"));
        if (instantiate_with_flags == nullptr && instantiate_v2 == nullptr) {
            std::printf("driver lacks cuGraphInstantiate\n");
            complete = false;
        }
        return complete;
    }
};

/// Prints `what code`, and hands the code on.
inline CUresult say(const char* what, CUresult code) {
    std::printf("%s %d\n", what, static_cast<int>(code));
    std::fflush(stdout);
    return code;
}

/// For calls whose failure would make everything after it meaningless.
inline void must(const char* what, CUresult code) {
    if (code == CUDA_SUCCESS)
        return;
    say(what, code);
    std::exit(90);
}

/// A driver function that few programs need; those of every program are in SCENE_FUNCTIONS.
template <class Function>
Function* driver_function(const char* name) {
    auto* const function = reinterpret_cast<Function*>(dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), name));
    if (function == nullptr)
        std::exit(91);
    return function;
}

/// A function of another preload, or a driver function by symbol so that the call passes those.
template <class Function>
Function* preloaded(const char* name) {
    auto* const function = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
    if (function == nullptr) {
        std::printf("no %s\n", name);
        std::exit(92);
    }
    return function;
}

/// The word of the command line that says which of its ways a program goes.
struct Way {
    const char* word;

    Way(int argc, char** argv, const char* otherwise) : word(argc > 1 ? argv[1] : otherwise) {}
    bool is(const char* name) const { return std::strcmp(word, name) == 0; }
};

struct Scene {
    static constexpr int count = 256;
    static constexpr size_t bytes = count * sizeof(float);

    Api cu;
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUfunction scale = nullptr;
    CUstream stream = nullptr;
    CUdeviceptr input = 0, output = 0;
    CUgraphExec exec = nullptr;

    void open() {
        if (!cu.load())
            std::exit(91);
        CUdevice device = 0;
        must("cuInit", cu.init(0));
        must("cuDeviceGet", cu.device_get(&device, 0));
        must("cuDevicePrimaryCtxRetain", cu.retain(&context, device));
        must("cuCtxSetCurrent", cu.set_current(context));
        must("cuModuleLoadData", cu.module_load(&module, kg_kernels_ptx));
        must("cuModuleGetFunction", cu.get_function(&scale, module, "kg_scale"));
        must("cuStreamCreate", cu.stream_create(&stream, CU_STREAM_NON_BLOCKING));
    }

    CUdeviceptr buffer(float value) {
        CUdeviceptr pointer = 0;
        float host[count];
        for (float& element : host)
            element = value;
        must("cuMemAlloc", cu.alloc(&pointer, bytes));
        must("cuMemcpyHtoD", cu.to_device(pointer, host, bytes));
        return pointer;
    }

    CUresult enqueue_scale(CUdeviceptr in, CUdeviceptr out, float factor, CUstream on) {
        int n = count;
        void* parameters[] = {&in, &out, &factor, &n};
        return cu.launch_kernel(scale, 1, 1, 1, count, 1, 1, 0, on, parameters, nullptr);
    }

    /// Captures out = 2 * in, instantiates it and destroys the template, as most programs do.
    CUgraphExec graph_of(CUdeviceptr in, CUdeviceptr out, CUstream on) {
        CUgraph graph = nullptr;
        CUgraphExec made = nullptr;
        must("cuStreamBeginCapture", cu.begin(on, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        must("cuLaunchKernel", enqueue_scale(in, out, 2.0f, on));
        must("cuStreamEndCapture", cu.end(on, &graph));
        must("cuGraphInstantiate", cu.instantiate(&made, graph, 0));
        must("cuGraphDestroy", cu.graph_destroy(graph));
        return made;
    }

    void open_with_graph() {
        open();
        input = buffer(1.0f);
        output = buffer(0.0f);
        exec = graph_of(input, output, stream);
    }

    void replay(const char* what) {
        say(what, cu.launch(exec, stream));
        say("cuStreamSynchronize", cu.synchronize(stream));
    }

    /// The mistake that keepgraph is for: one finding under the shim.
    void free_input_and_replay() {
        say("cuMemFree", cu.free(input));
        replay("cuGraphLaunch after the free");
    }

    float first(CUdeviceptr pointer) {
        float value = 0;
        must("cuMemcpyDtoH", cu.to_host(&value, pointer, sizeof value));
        return value;
    }
};
