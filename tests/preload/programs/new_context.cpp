// SPDX-License-Identifier: Apache-2.0
// `new_context reset|destroy|unload`: the context goes with all code in it, the program makes another one and loads
// other code, and the driver gives a function handle of old out for a kernel with fewer parameters. Whoever still
// believes in the old layout reads past `kernelParams`, which ends where a page does, and dies. `unload`: the context
// stays, a module goes on another thread, and its unload returns only at the end. Needs libheld_call.so as a preload.
#include <sys/mman.h>

#include <cstring>
#include <thread>

#include "made_graph.h"

namespace {

const char other_ptx[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry kg_count(\n.param .u64 kg_count_param_0\n)\n{\n ret;\n}\n";

}  // namespace

int main(int argc, char** argv) {
    const bool unload = argc > 1 && std::strcmp(argv[1], "unload") == 0;
    const bool reset = argc < 2 || std::strcmp(argv[1], "reset") == 0;
    if (unload)
        dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);  // so that a preload finds the driver behind itself
    const auto reset_primary = driver_function<decltype(cuDevicePrimaryCtxReset_v2)>("cuDevicePrimaryCtxReset_v2");
    // Headers of CUDA 13 declare later forms.
    const auto context_create = driver_function<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2");
    const auto context_destroy = driver_function<decltype(cuCtxDestroy_v2)>("cuCtxDestroy_v2");
    static Scene scene;
    scene.open();
    if (!reset && !unload) {
        must("cuCtxCreate", context_create(&scene.context, 0, 0));
        must("cuModuleLoadData", scene.cu.module_load(&scene.module, kg_kernels_ptx));
        must("cuModuleGetFunction", scene.cu.get_function(&scene.scale, scene.module, "kg_scale"));
        must("cuStreamCreate", scene.cu.stream_create(&scene.stream, CU_STREAM_NON_BLOCKING));
    }
    scene.input = scene.buffer(1.0f);
    scene.output = scene.buffer(0.0f);
    scene.exec = scene.graph_of(scene.input, scene.output, scene.stream);
    scene.replay("in the old context");

    std::thread unloading;
    CUresult unloaded = CUDA_ERROR_UNKNOWN;
    if (unload) {
        auto* const unload_by_symbol = preloaded<CUresult(CUmodule)>("cuModuleUnload");
        preloaded<void()>("held_arm")();
        unloading = std::thread([&unloaded, unload_by_symbol, context = scene.context, module = scene.module] {
            must("cuCtxSetCurrent", scene.cu.set_current(context));
            unloaded = unload_by_symbol(module);
        });
        preloaded<void()>("held_await")();
    } else if (reset) {
        must("cuDevicePrimaryCtxReset", reset_primary(0));
        must("cuDevicePrimaryCtxRetain", scene.cu.retain(&scene.context, 0));
        must("cuCtxSetCurrent", scene.cu.set_current(scene.context));
    } else {
        must("cuCtxDestroy", context_destroy(scene.context));
        must("cuCtxCreate", context_create(&scene.context, 0, 0));
    }
    // As many modules of one function as the old one had functions: which handle comes back when is the driver's
    // choice.
    CUfunction function = nullptr;
    for (int i = 0; i < 64 && function != scene.scale; ++i) {
        must("cuModuleLoadData", scene.cu.module_load(&scene.module, other_ptx));
        must("cuModuleGetFunction", scene.cu.get_function(&function, scene.module, "kg_count"));
    }
    std::printf("the handle came back: %d\n", function == scene.scale);
    must("cuStreamCreate", scene.cu.stream_create(&scene.stream, CU_STREAM_NON_BLOCKING));
    scene.input = scene.buffer(2.0f);

    const auto page = static_cast<size_t>(getpagesize());
    char* const pages =
        static_cast<char*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE) != 0)
        std::exit(93);
    void** const values = reinterpret_cast<void**>(pages + page) - 1;
    values[0] = &scene.input;
    Scale count(scene, scene.input);
    count.node.func = function;
    count.node.kernelParams = values;
    const CUgraph graph = empty_graph();
    const CUgraphNode node = add_kernel(graph, count);
    scene.exec = exec_of(scene, graph);
    set_kernel(scene.exec, node, count);
    scene.replay("in the new context");
    if (unload) {
        preloaded<void()>("held_release")();
        unloading.join();
        say("cuModuleUnload", unloaded);
    }
    return 0;
}
