// SPDX-License-Identifier: Apache-2.0
#include "cli/machine.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "cli/subprocess.h"

namespace keepgraph::cli {
namespace {

std::string path_of(void* handle) {
    link_map* map = nullptr;
    return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr ? map->l_name : "";
}

}  // namespace

Check shim_loads(const Shim& shim) {
    if (shim.path.empty()) {
        return {false, shim.problem};
    }
    std::vector<std::string> environment = environment_without({"LD_PRELOAD", "LD_AUDIT", "LD_DEBUG"});
    environment.push_back("LD_PRELOAD=" + shim.path);
    const Captured run = capture({"/bin/true"}, environment);
    if (run.ended.code == 0 && run.err.empty()) {
        return {true, shim.path + " (loads into /bin/true)"};
    }
    std::string why = run.err.substr(0, run.err.find('\n'));
    if (why.empty()) {
        why = run.ended.signal > 0 ? "signal " + std::to_string(run.ended.signal)
                                   : "exit code " + std::to_string(run.ended.code);
    }
    return {false, shim.path + " does not load into /bin/true: " + why};
}

Check driver_here() {
    void* handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) {
        const char* why = dlerror();
        return {false, "none: " + std::string(why != nullptr ? why : "libcuda.so.1 was not found")};
    }
    const std::string path = path_of(handle);
    // Tells the version without cuInit, and so without a GPU.
    auto* get_version = reinterpret_cast<int (*)(int*)>(dlsym(handle, "cuDriverGetVersion"));
    int version = 0;
    if (get_version == nullptr || get_version(&version) != 0) {
        return {false, path + ", which does not tell its version"};
    }
    // Not closed: unloading a driver has been seen to end badly, and this process is about to end.
    return {true, path + ", for CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10)};
}

Check cupti_here() {
    namespace fs = std::filesystem;
    std::vector<std::string> names{"libcupti.so", "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"};
    const char* given = std::getenv("CUDA_PATH");
    for (const fs::path& root : {fs::path(given != nullptr ? given : ""), fs::path("/usr/local/cuda")}) {
        for (const char* folder : {"extras/CUPTI/lib64", "lib64", "lib"}) {
            if (!root.empty()) {
                names.push_back((root / folder / "libcupti.so").native());
            }
        }
    }
    for (const std::string& name : names) {
        // Its constructors start nothing until it is asked to.
        if (void* handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
            return {true, path_of(handle) + " (profilers use it; keepgraph works with and without)"};
        }
    }
    return {false,
            "not found by the loader, in CUDA_PATH or in /usr/local/cuda (profilers use it; keepgraph works with and "
            "without)"};
}

}  // namespace keepgraph::cli
