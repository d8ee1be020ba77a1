// SPDX-License-Identifier: Apache-2.0
// Which exported function cuGetProcAddress hands out, by name, version and flags. The answer is printed as the exported
// names that have the address which came back, so aliases show too.
#include "fixture.h"

using namespace conformance;

namespace {

constexpr const char* names[] = {
    "cuInit",
    "cuDriverGetVersion",
    "cuGetProcAddress",
    "cuMemAlloc",
    "cuMemFree",
    "cuMemAllocAsync",
    "cuMemFreeAsync",
    "cuMemAllocHost",
    "cuMemHostAlloc",
    "cuMemAllocPitch",
    "cuMemcpyHtoD",
    "cuMemcpyHtoDAsync",
    "cuMemsetD8Async",
    "cuCtxSynchronize",
    "cuLaunchKernel",
    "cuStreamSynchronize",
    "cuStreamDestroy",
    "cuEventRecord",
    "cuEventElapsedTime",
    "cuStreamBeginCapture",
    "cuStreamBeginCaptureToGraph",
    "cuStreamEndCapture",
    "cuStreamGetCaptureInfo",
    "cuStreamUpdateCaptureDependencies",
    "cuGraphInstantiate",
    "cuGraphInstantiateWithFlags",
    "cuGraphInstantiateWithParams",
    "cuGraphLaunch",
    "cuGraphUpload",
    "cuGraphExecUpdate",
    "cuGraphAddKernelNode",
    "cuGraphKernelNodeGetParams",
    "cuGraphExecKernelNodeSetParams",
    "cuGraphAddNode",
    "cuGraphAddDependencies",
    "cuGraphRemoveDependencies",
    "cuGraphGetEdges",
    "cuGraphNodeGetDependencies",
    "cuGraphDestroyNode",
    "cuMemMap",
    "cuMemUnmap",
    "cuModuleUnload",
    "cuLibraryUnload",
    "cuMemAlloc_v2",
    "cuGraphLaunch_ptsz",
    "cuNoSuchFunction",
    "",
};
constexpr int versions[] = {0, 2000, 3020, 10000, 11030, 12000, 12030, 13000, 99000};
constexpr unsigned flags[] = {0, 1, 2, 3};

std::string names_of(const std::string& base, const void* address) {
    if (address == nullptr)
        return "null";
    std::string all;
    for (const char* version : {"", "_v2", "_v3", "_v4", "WithFlags", "WithParams"}) {
        for (const char* suffix : {"", "_ptsz", "_ptds"}) {
            const std::string name = base + version + suffix;
            if (look_up(name.c_str()) != address)
                continue;
            all += (all.empty() ? "" : "=") + name;
        }
    }
    return all.empty() ? "not_exported" : all;
}

const bool registered = [] {
    for (const char* name : names) {
        for (const unsigned flag : flags) {
            Register(std::string("lookup.") + (*name != 0 ? name : "(empty)") + ".flags_" + std::to_string(flag),
                     [=](Out& out) {
                         for (const int version : versions) {
                             void* found = nullptr;
                             auto status = static_cast<CUdriverProcAddressQueryResult>(9);
                             const CUresult code =
                                 CU(cuGetProcAddress_v2)(name, &found, version, cuuint64_t{flag}, &status);
                             out(std::to_string(version),
                                 std::to_string(code) + "/" + std::to_string(status) + "/" + names_of(name, found));
                         }
                     });
        }
    }
    return true;
}();

}  // namespace

PROBE("lookup.not_found_without_status") {
    void* found = reinterpret_cast<void*>(1);
    out("v2", CU(cuGetProcAddress_v2)("cuNoSuchFunction", &found, 13000, 0, nullptr));
    out("null", found == nullptr);
    found = reinterpret_cast<void*>(1);
    out("v1", CU(cuGetProcAddress)("cuNoSuchFunction", &found, 13000, 0));
    out("null", found == nullptr);
    found = reinterpret_cast<void*>(1);
    out("too_old_v1", CU(cuGetProcAddress)("cuGraphLaunch", &found, 2000, 0));
    out("null", found == nullptr);
}
PROBE("lookup.both_forms_agree") {
    int differences = 0;
    for (const char* name : names) {
        for (const int version : {2000, 11030, 13000}) {
            void *one = nullptr, *two = nullptr;
            CUdriverProcAddressQueryResult status;
            CU(cuGetProcAddress)(name, &one, version, 0);
            CU(cuGetProcAddress_v2)(name, &two, version, 0, &status);
            differences += one != two;
        }
    }
    out("differences", differences);
}
PROBE("lookup.absent_in_13_0") {
    for (const char* name : {"cuGraphNodeGetToolsId", "cuGraphExecGetId", "cuGraphGetId", "cuGraphNodeGetLocalId"}) {
        out(name, look_up(name) != nullptr);
    }
}
PROBE("lookup.error_names") {
    for (const int code : {0, 1, 2, 3, 201, 400, 401, 500, 700, 800, 801, 900, 901, 904, 906, 908, 910, 999}) {
        const char* name = nullptr;
        CU(cuGetErrorName)(static_cast<CUresult>(code), &name);
        out(std::to_string(code), name != nullptr ? name : "null");
    }
    const char* name = "";
    out("unknown", CU(cuGetErrorName)(static_cast<CUresult>(12345), &name));
    out("null", name == nullptr);
}
