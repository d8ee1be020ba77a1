// SPDX-License-Identifier: Apache-2.0
#include "graph/function.h"

#include <algorithm>

#include "driver/api.h"
#include "graph/parameter_types.h"

namespace keepgraph::graph {
namespace {

// No kernel has more: the driver's limit is 32764 bytes of parameters. A driver that never says "past the last" must
// not keep us here for ever.
constexpr std::size_t most_parameters = 32768;

void read(Function& function, const CUDA_KERNEL_NODE_PARAMS& node) {
    const auto& api = driver::api();
    const char* name = nullptr;
    const bool by_function = node.func != nullptr;
    if (by_function ? api.cuFuncGetName != nullptr && api.cuFuncGetName(&name, node.func) == CUDA_SUCCESS
                    : api.cuKernelGetName != nullptr && api.cuKernelGetName(&name, node.kern) == CUDA_SUCCESS)
        function.mangled = name != nullptr ? name : "";
    function.layout_known = by_function ? api.cuFuncGetParamInfo != nullptr : api.cuKernelGetParamInfo != nullptr;
    while (function.layout_known && function.parameters.size() < most_parameters) {
        const std::size_t index = function.parameters.size();
        std::size_t offset = 0;
        std::size_t size = 0;
        const CUresult result = by_function ? api.cuFuncGetParamInfo(node.func, index, &offset, &size)
                                            : api.cuKernelGetParamInfo(node.kern, index, &offset, &size);
        if (result != CUDA_SUCCESS) {
            function.layout_known = result == CUDA_ERROR_INVALID_VALUE;  // the driver's "past the last"
            break;
        }
        function.parameters.push_back({static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(size)});
        function.bytes = std::max(function.bytes, static_cast<std::uint32_t>(offset + size));
    }
    for (std::size_t i = 0; i < function.parameters.size(); ++i) {
        const auto [start, size] = function.parameters[i];
        for (std::uint32_t at = 0; at + 8 <= size; at += 8)
            function.words.push_back({start + at, at, static_cast<std::uint16_t>(i), size > 8});
    }
    function.slots = std::vector<Function::Slot>(function.bytes / 4 + 1);
}

bool same_layout(const Function& a, const Function& b) {
    if (a.layout_known != b.layout_known || a.parameters.size() != b.parameters.size())
        return false;
    for (std::size_t i = 0; i < a.parameters.size(); ++i)
        if (a.parameters[i].offset != b.parameters[i].offset || a.parameters[i].size != b.parameters[i].size)
            return false;
    return true;
}

}  // namespace

Function::~Function() {
    delete types_.load(std::memory_order_relaxed);
}

bool Function::may_have_one_type(std::size_t a, std::size_t b) const {
    const Types* types = types_.load(std::memory_order_acquire);
    if (types == nullptr) {
        auto read = std::make_unique<const Types>(parameter_types(mangled, parameters.size()));
        if (types_.compare_exchange_strong(types, read.get(), std::memory_order_acq_rel))
            types = read.release();
    }
    return types->empty() || (*types)[a] == (*types)[b];
}

FunctionPtr Functions::of(const CUDA_KERNEL_NODE_PARAMS& node) {
    void* const handle = node.func != nullptr ? static_cast<void*>(node.func) : static_cast<void*>(node.kern);
    const std::lock_guard lock(mutex_);
    if (const auto known = by_handle_.find(handle); known != by_handle_.end())
        return known->second;
    auto function = std::make_unique<Function>();
    read(*function, node);
    const auto [first, last] = by_name_.equal_range(function->mangled);
    for (auto entry = first; entry != last; ++entry)
        if (same_layout(*entry->second, *function))
            return by_handle_.emplace(handle, entry->second.get()).first->second;
    std::string name = function->mangled;
    const FunctionPtr kept = by_name_.emplace(std::move(name), std::move(function))->second.get();
    by_handle_.emplace(handle, kept);
    return kept;
}

void Functions::forget() noexcept {
    const std::lock_guard lock(mutex_);
    by_handle_.clear();
}

}  // namespace keepgraph::graph
