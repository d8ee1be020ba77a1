// SPDX-License-Identifier: Apache-2.0
#include "fake_driver.h"

#include <algorithm>
#include <string_view>

namespace keepgraph::unit_tests {
namespace {

FakeNode& node_of(CUgraphNode handle) {
    return *reinterpret_cast<FakeNode*>(handle);
}

CUresult get_nodes(CUgraph handle, CUgraphNode* nodes, std::size_t* count) {
    FakeGraph& graph = *reinterpret_cast<FakeGraph*>(handle);
    if (nodes != nullptr)
        for (std::size_t i = 0; i < std::min(*count, graph.nodes.size()); ++i)
            nodes[i] = graph.nodes[i].handle();
    *count = graph.nodes.size();
    return graph.nodes_result;
}

CUresult get_type(CUgraphNode node, CUgraphNodeType* type) {
    *type = node_of(node).type;
    return CUDA_SUCCESS;
}

// A getter of the driver that copies one field of a node out.
template <auto field, class Value>
CUresult get(CUgraphNode node, Value* value) {
    if (node_of(node).parameters_result == CUDA_SUCCESS)
        *value = node_of(node).*field;
    return node_of(node).parameters_result;
}

CUresult get_child(CUgraphNode node, CUgraph* child) {
    if (node_of(node).parameters_result == CUDA_SUCCESS)
        *child = node_of(node).child->handle();
    return node_of(node).parameters_result;
}

CUresult get_edges_v2(CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, std::size_t* count) {
    const FakeGraph& graph = *reinterpret_cast<FakeGraph*>(handle);
    if (from != nullptr)
        for (std::size_t i = 0; i < std::min(*count, graph.edges.size()); ++i) {
            from[i] = graph.edges[i].from->handle();
            to[i] = graph.edges[i].to->handle();
            data[i] = graph.edges[i].data;
        }
    *count = graph.edges.size();
    return CUDA_SUCCESS;
}

CUresult get_edges(CUgraph handle, CUgraphNode* from, CUgraphNode* to, std::size_t* count) {
    if (!FakeDriver::get().ports_in_old_form)
        return CUDA_ERROR_LOSSY_QUERY;
    std::vector<CUgraphEdgeData> data(*count);
    return get_edges_v2(handle, from, to, data.data(), count);
}

CUresult get_dependencies_v2(CUgraphNode handle, CUgraphNode* from, CUgraphEdgeData* data, std::size_t* count) {
    const std::vector<FakeNode*>& dependencies = node_of(handle).dependencies;
    for (std::size_t i = 0; i < *count; ++i) {
        from[i] = i < dependencies.size() ? dependencies[i]->handle() : nullptr;
        data[i] = {};
    }
    *count = std::min(*count, dependencies.size());
    return dependencies.empty() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult get_dependencies(CUgraphNode handle, CUgraphNode* from, std::size_t* count) {
    std::vector<CUgraphEdgeData> data(*count);
    return get_dependencies_v2(handle, from, data.data(), count);
}

template <class Handle>
CUresult get_name(const char** name, Handle handle) {
    ++FakeDriver::get().functions_asked;
    *name = reinterpret_cast<FakeFunction*>(handle)->name.c_str();
    return CUDA_SUCCESS;
}

template <class Handle>
CUresult get_parameter(Handle handle, std::size_t index, std::size_t* offset, std::size_t* size) {
    const FakeFunction& function = *reinterpret_cast<FakeFunction*>(handle);
    if (index >= function.parameters.size())
        return function.past_the_last;
    *offset = function.parameters[index].offset;
    *size = function.parameters[index].size;
    return CUDA_SUCCESS;
}

CUresult get_attribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
    FakeDriver& driver = FakeDriver::get();
    driver.ids_asked += attribute == CU_POINTER_ATTRIBUTE_BUFFER_ID;
    if (driver.failing_attributes > 0) {
        --driver.failing_attributes;
        return CUDA_ERROR_UNKNOWN;
    }
    const auto found = std::find_if(driver.memory.begin(), driver.memory.end(),
                                    [&](const FakeMemory& memory) { return address - memory.base < memory.size; });
    if (found == driver.memory.end())
        return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
            *static_cast<unsigned long long*>(data) = found->id;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            *static_cast<CUdeviceptr*>(data) = driver.range_of_all.second > 0 ? driver.range_of_all.first : found->base;
            return driver.range_known ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            *static_cast<std::size_t*>(data) =
                driver.range_of_all.second > 0 ? driver.range_of_all.second : found->size;
            return driver.range_known ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            *static_cast<unsigned*>(data) = found->type;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            *static_cast<unsigned*>(data) = found->managed;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            *static_cast<int*>(data) = found->device;
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

void* find(void* /*context*/, const char* name) {
    driver::Api fake;
    fake.cuPointerGetAttribute = get_attribute;
    fake.cuGraphGetNodes = get_nodes;
    fake.cuGraphNodeGetType = get_type;
    fake.cuGraphKernelNodeGetParams_v2 = get<&FakeNode::kernel>;
    fake.cuGraphMemcpyNodeGetParams = get<&FakeNode::copy>;
    fake.cuGraphMemsetNodeGetParams = get<&FakeNode::set>;
    fake.cuGraphHostNodeGetParams = get<&FakeNode::host>;
    fake.cuGraphEventRecordNodeGetEvent = get<&FakeNode::event>;
    fake.cuGraphEventWaitNodeGetEvent = get<&FakeNode::event>;
    fake.cuGraphMemAllocNodeGetParams = get<&FakeNode::allocated>;
    fake.cuGraphMemFreeNodeGetParams = [](CUgraphNode node, CUdeviceptr* address) {
        return get<&FakeNode::freed>(node, address);
    };
    fake.cuGraphChildGraphNodeGetGraph = get_child;
    fake.cuGraphGetEdges = get_edges;
    fake.cuGraphGetEdges_v2 = get_edges_v2;
    fake.cuGraphNodeGetDependencies = get_dependencies;
    fake.cuGraphNodeGetDependencies_v2 = get_dependencies_v2;
    fake.cuFuncGetName = get_name<CUfunction>;
    fake.cuKernelGetName = get_name<CUkernel>;
    fake.cuFuncGetParamInfo = get_parameter<CUfunction>;
    fake.cuKernelGetParamInfo = get_parameter<CUkernel>;
#define FUNCTION(symbol)                   \
    if (std::string_view(name) == #symbol) \
        return reinterpret_cast<void*>(fake.symbol);
#include "driver/functions.def"
#undef FUNCTION
    return nullptr;
}

}  // namespace

FakeDriver& FakeDriver::get() {
    static FakeDriver driver;
    static const bool loaded = (driver::load(find, nullptr), true);
    (void)loaded;
    return driver;
}

}  // namespace keepgraph::unit_tests
