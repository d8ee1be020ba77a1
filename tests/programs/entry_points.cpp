// SPDX-License-Identifier: Apache-2.0
// CASES F6: what each door answers for a base name, a CUDA version and flags, and whether the answer can be called.
// Prints codes, statuses and null or not, never an address; the same question to two doors must give one pointer.
#include "common.h"
#include "driver_entry.h"

#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <vector>

extern "C" {
int kg_entry_point(const char* symbol, void** entry, unsigned long long flags,
                   int* status) __asm__("cudaGetDriverEntryPoint");
int kg_entry_point_ptsz(const char* symbol, void** entry, unsigned long long flags,
                        int* status) __asm__("cudaGetDriverEntryPoint_ptsz");
int kg_entry_point_by_version(const char* symbol, void** entry, unsigned version, unsigned long long flags,
                              int* status) __asm__("cudaGetDriverEntryPointByVersion");
}

namespace {

using LookUpV1 = CUresult (*)(const char*, void**, int, cuuint64_t);
using LookUp = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

// The rows of the table, of which names() makes base names.
#define DRIVER(symbol, ...) #symbol,
#define RUNTIME(symbol, ...)
const char* const hooked[] = {
#include "../../preload/symbols.def"
};
#undef DRIVER
#undef RUNTIME
const char* const others[] = {"cuDriverGetVersion", "cuGraphKernelNodeGetParams", "cuGraphGetEdges",
                              // no base names: suffixed, unknown, empty
                              "cuMemAlloc_v2", "cuGraphLaunch_ptsz", "cuNoSuchFunction", "cudnnCreate", ""};

/// cuMemFree for cuMemFree_v2, cuGraphLaunch for cuGraphLaunch_ptsz.
std::string base_name(std::string symbol) {
    for (const char* suffix : {"_ptsz", "_ptds"})
        if (symbol.size() > 5 && symbol.compare(symbol.size() - 5, 5, suffix) == 0)
            symbol.resize(symbol.size() - 5);
    const std::size_t size = symbol.size();
    return size > 3 && symbol.compare(size - 3, 2, "_v") == 0 ? symbol.substr(0, size - 3) : symbol;
}

const std::vector<std::string>& names() {
    static const std::vector<std::string> all = [] {
        std::set<std::string> bases;
        for (const char* symbol : hooked)
            bases.insert(base_name(symbol));
        std::vector<std::string> list(bases.begin(), bases.end());
        list.insert(list.end(), std::begin(others), std::end(others));
        return list;
    }();
    return all;
}

const int versions[] = {2000, 3020, 10000, 10010, 11030, 12000, 12030, 13000};

const char* presence(const void* entry) {
    return entry != nullptr ? "found" : "null";
}

void ask_all(LookUp look_up, LookUpV1 look_up_v1) {
    for (const std::string& text : names()) {
        const char* const name = text.c_str();
        for (int version : versions) {
            for (cuuint64_t flags : {0, 1, 2}) {
                void* entry = nullptr;
                void* entry_v1 = nullptr;
                auto status = static_cast<CUdriverProcAddressQueryResult>(-1);
                const int code = look_up(name, &entry, version, flags, &status);
                const int code_v1 = look_up_v1 != nullptr ? look_up_v1(name, &entry_v1, version, flags) : -1;
                std::printf("%s %d flags %d: %d status %d %s; 4 arguments: %d %s\n", name, version,
                            static_cast<int>(flags), code, status, presence(entry), code_v1,
                            entry_v1 == entry ? "same" : presence(entry_v1));
            }
        }
    }
}

void ask_cudart() {
    for (const std::string& text : names()) {
        const char* const name = text.c_str();
        void* entry = nullptr;
        void* entry_ptsz = nullptr;
        void* by_version = nullptr;
        int status = -1;
        int status_ptsz = -1;
        int status_by_version = -1;
        const int code = kg_entry_point(name, &entry, 0, &status);
        const int code_ptsz = kg_entry_point_ptsz(name, &entry_ptsz, 0, &status_ptsz);
        const int code_by_version = kg_entry_point_by_version(name, &by_version, 12000, 0, &status_by_version);
        std::printf(
            "cudaGetDriverEntryPoint %s: %d status %d %s; _ptsz: %d status %d %s; by version 12000: %d status %d %s\n",
            name, code, status, presence(entry), code_ptsz, status_ptsz,
            entry_ptsz == entry ? "same" : presence(entry_ptsz), code_by_version, status_by_version,
            by_version == entry ? "same" : presence(by_version));
    }
}

// The ABI that was handed out is the ABI that works: memory through both doors, a capture through the _ptsz forms.
void call_through(LookUp look_up, void* library) {
    const auto get = [look_up](const char* name, int version, cuuint64_t flags) {
        void* entry = nullptr;
        look_up(name, &entry, version, flags, nullptr);
        return entry;
    };
    const auto allocate = reinterpret_cast<CUresult (*)(CUdeviceptr*, std::size_t)>(get("cuMemAlloc", 3020, 0));
    const auto release = reinterpret_cast<CUresult (*)(CUdeviceptr)>(get("cuMemFree", 13000, 0));
    const auto version = reinterpret_cast<CUresult (*)(int*)>(get("cuDriverGetVersion", 2020, 0));
    const auto begin = reinterpret_cast<CUresult (*)(CUstream, int)>(get("cuStreamBeginCapture", 10010, 2));
    const auto end = reinterpret_cast<CUresult (*)(CUstream, CUgraph*)>(get("cuStreamEndCapture", 10000, 2));
    const auto instantiate = reinterpret_cast<CUresult (*)(CUgraphExec*, CUgraph, unsigned long long)>(
        get("cuGraphInstantiateWithFlags", 11040, 0));
    const auto launch = reinterpret_cast<CUresult (*)(CUgraphExec, CUstream)>(get("cuGraphLaunch", 10000, 2));
    std::printf("exported names: %s\n", dlsym(library, "cuMemAlloc_v2") == reinterpret_cast<void*>(allocate) &&
                                                dlsym(library, "cuGraphLaunch_ptsz") == reinterpret_cast<void*>(launch)
                                            ? "the same pointers"
                                            : "other pointers");
    int number = 0;
    CUdeviceptr pointer = 0;
    show("cuDriverGetVersion", version(&number));
    show("cuMemAlloc@3020", allocate(&pointer, bytes));
    show("cuMemFree@13000", release(pointer));
    gpu::Stream stream = nullptr;
    MUST(gpu::stream_create(&stream));
    void* block = nullptr;
    MUST(gpu::malloc(&block, bytes));
    float* buffer = static_cast<float*>(block);
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    show("cuStreamBeginCapture@10010 per thread", begin(stream, 1));
    MUST(run("kg_fill", stream, buffer, 3.0f, count));
    show("cuStreamEndCapture per thread", end(stream, &graph));
    show("cuGraphInstantiateWithFlags", instantiate(&exec, graph, 0));
    show("cuGraphLaunch per thread", launch(exec, stream));
    show_value("buffer", buffer, stream);
    // the 5-argument form, which cuda.h calls cuGraphInstantiate_v2
    const auto instantiate_5 = reinterpret_cast<CUresult (*)(CUgraphExec*, CUgraph, CUgraphNode*, char*, std::size_t)>(
        get("cuGraphInstantiate", 13000, 0));
    CUgraphExec second = nullptr;
    show("cuGraphInstantiate@13000", instantiate_5(&second, graph, nullptr, nullptr, 0));
    show("cuGraphLaunch of it", launch(second, stream));
    show_value("buffer", buffer, stream);
    MUST(gpu::exec_destroy(exec));
    MUST(gpu::exec_destroy(second));
    MUST(gpu::graph_destroy(graph));
    MUST(gpu::free(buffer));
}

}  // namespace

int main() {
    MUST(gpu::init());
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    const auto look_up = reinterpret_cast<LookUp>(dlsym(library, "cuGetProcAddress_v2"));
    const auto look_up_v1 = reinterpret_cast<LookUpV1>(dlsym(library, "cuGetProcAddress"));
    if (look_up == nullptr) {
        std::printf("no cuGetProcAddress_v2\n");
        return 3;
    }
    ask_all(look_up, look_up_v1);
    ask_cudart();
    // The place for the status may be null. No null pointer and no null name: the real driver writes and reads through
    // them and dies (measured on 580.159), so there is nothing to compare.
    void* entry = nullptr;
    show("no place for the status", look_up("cuMemAlloc", &entry, 13000, 0, nullptr));
    show("no place for the status, unknown name", look_up("cuNoSuchFunction", &entry, 13000, 0, nullptr));
    call_through(look_up, library);
    return 0;
}
