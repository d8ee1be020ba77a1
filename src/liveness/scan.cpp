// SPDX-License-Identifier: Apache-2.0
#include "liveness/scan.h"

#include <cstring>
#include <mutex>
#include <unordered_map>

#include "driver/api.h"

namespace keepgraph::liveness {
namespace {

struct Parameter {
    std::size_t offset;
    std::size_t size;
};
struct Function {
    std::string name;
    std::vector<Parameter> parameters;
};
struct Functions {
    std::mutex mutex;
    std::unordered_map<void*, Function> by_handle;
};
Functions& functions() {
    static auto* const instance = new Functions;  // leaked: the host's static destructors may still launch
    return *instance;
}

Function read_function(const CUDA_KERNEL_NODE_PARAMS& node) {
    const auto& api = driver::api();
    Function function;
    const char* name = nullptr;
    const bool by_function = node.func != nullptr;
    if (by_function ? api.cuFuncGetName != nullptr && api.cuFuncGetName(&name, node.func) == CUDA_SUCCESS
                    : api.cuKernelGetName != nullptr && api.cuKernelGetName(&name, node.kern) == CUDA_SUCCESS)
        function.name = name;
    Parameter next{};
    const auto more = [&](std::size_t index) {
        return by_function ? api.cuFuncGetParamInfo != nullptr &&
                                 api.cuFuncGetParamInfo(node.func, index, &next.offset, &next.size) == CUDA_SUCCESS
                           : api.cuKernelGetParamInfo != nullptr &&
                                 api.cuKernelGetParamInfo(node.kern, index, &next.offset, &next.size) == CUDA_SUCCESS;
    };
    while (more(function.parameters.size()))
        function.parameters.push_back(next);
    return function;
}

class Scan {
  public:
    std::vector<Reference> references;

    void kernel(unsigned index, CUgraphNode node) {
        CUDA_KERNEL_NODE_PARAMS params{};
        const auto get = driver::api().cuGraphKernelNodeGetParams_v2;
        if (get == nullptr || get(node, &params) != CUDA_SUCCESS)
            return;
        void* const handle = params.func != nullptr ? static_cast<void*>(params.func) : params.kern;
        const std::lock_guard lock(functions().mutex);
        auto [entry, is_new] = functions().by_handle.try_emplace(handle);
        if (is_new)
            entry->second = read_function(params);
        const Function& function = entry->second;
        const char* const packed = params.kernelParams == nullptr ? packed_buffer(params.extra) : nullptr;
        for (std::size_t i = 0; i < function.parameters.size(); ++i) {
            const auto [offset, size] = function.parameters[i];
            const char* const bytes = params.kernelParams != nullptr ? static_cast<const char*>(params.kernelParams[i])
                                      : packed != nullptr            ? packed + offset
                                                                     : nullptr;
            if (bytes == nullptr)
                continue;
            // Addresses stand on their own or, in structs passed by value, at offsets that are multiples of 8.
            for (std::size_t at = 0; at + 8 <= size; at += 8) {
                std::uintptr_t word = 0;
                std::memcpy(&word, bytes + at, sizeof word);
                if (const auto* const allocation = cache_.find(word))
                    references.push_back(
                        {index,
                         "kernel " + function.name + ", parameter " + std::to_string(i) + " +" + std::to_string(at),
                         word, config::Grade::likely, *allocation});
            }
        }
        grade_end_pointers(index);
    }

    void memcpy_node(unsigned index, CUgraphNode node) {
        CUDA_MEMCPY3D copy{};
        const auto get = driver::api().cuGraphMemcpyNodeGetParams;
        if (get == nullptr || get(node, &copy) != CUDA_SUCCESS)
            return;
        certain(index, "memcpy src", end_of_copy(copy.srcMemoryType, copy.srcHost, copy.srcDevice));
        certain(index, "memcpy dst", end_of_copy(copy.dstMemoryType, copy.dstHost, copy.dstDevice));
    }

    void memset_node(unsigned index, CUgraphNode node) {
        CUDA_MEMSET_NODE_PARAMS params{};
        const auto get = driver::api().cuGraphMemsetNodeGetParams;
        if (get != nullptr && get(node, &params) == CUDA_SUCCESS)
            certain(index, "memset dst", params.dst);
    }

  private:
    static std::uintptr_t end_of_copy(CUmemorytype type, const void* host, CUdeviceptr device) {
        switch (type) {
            case CU_MEMORYTYPE_HOST:
                return reinterpret_cast<std::uintptr_t>(host);
            case CU_MEMORYTYPE_ARRAY:
                return 0;
            default:
                return device;
        }
    }

    // The driver gives the pairs back as SIZE, POINTER; programs write them the other way round. Only the keys count.
    static const char* packed_buffer(void** extra) {
        for (; extra != nullptr && *extra != CU_LAUNCH_PARAM_END; extra += 2)
            if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
                return static_cast<const char*>(extra[1]);
        return nullptr;
    }

    void certain(unsigned index, const char* slot, std::uintptr_t address) {
        if (const auto* const allocation = cache_.find(address))
            references.push_back({index, slot, address, config::Grade::certain, *allocation});
    }

    // [begin, end) pairs are common, and `end` is often the first byte of an allocation that has nothing to do with it.
    // Only a parameter that stands behind the one that lies in the preceding allocation can be such an end: small
    // allocations often touch, and a rule that looked both ways would doubt every input allocated after an output.
    void grade_end_pointers(unsigned index) {
        for (std::size_t i = 0; i < references.size(); ++i) {
            auto& reference = references[i];
            if (reference.node != index || reference.address != reference.allocation.base)
                continue;
            for (std::size_t before = 0; before < i; ++before)
                if (references[before].node == index && references[before].allocation.end() == reference.address)
                    reference.grade = config::Grade::possible;
        }
    }

    memory::ScanCache cache_;
};

}  // namespace

std::vector<Reference> scan(CUgraph graph) {
    const auto& api = driver::api();
    if (api.cuGraphGetNodes == nullptr || api.cuGraphNodeGetType == nullptr)
        return {};
    std::size_t count = 0;
    if (api.cuGraphGetNodes(graph, nullptr, &count) != CUDA_SUCCESS || count == 0)
        return {};
    std::vector<CUgraphNode> nodes(count);
    if (api.cuGraphGetNodes(graph, nodes.data(), &count) != CUDA_SUCCESS)
        return {};
    Scan scan;
    for (unsigned index = 0; index < count; ++index) {
        CUgraphNodeType type{};
        if (api.cuGraphNodeGetType(nodes[index], &type) != CUDA_SUCCESS)
            continue;
        if (type == CU_GRAPH_NODE_TYPE_KERNEL)
            scan.kernel(index, nodes[index]);
        else if (type == CU_GRAPH_NODE_TYPE_MEMCPY)
            scan.memcpy_node(index, nodes[index]);
        else if (type == CU_GRAPH_NODE_TYPE_MEMSET)
            scan.memset_node(index, nodes[index]);
    }
    return std::move(scan.references);
}

void forget_functions() {
    const std::lock_guard lock(functions().mutex);
    functions().by_handle.clear();
}

}  // namespace keepgraph::liveness
