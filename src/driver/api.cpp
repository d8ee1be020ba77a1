// SPDX-License-Identifier: Apache-2.0
#include "driver/api.h"

#include <atomic>
#include <cstdio>
#include <new>

namespace keepgraph::driver {
namespace {

constexpr Api nothing_found{};
std::atomic<const Api*> published{&nothing_found};

}  // namespace

const Api& api() noexcept {
    return *published.load(std::memory_order_acquire);
}

void load(void* (*find)(void* context, const char* name), void* context) noexcept {
    auto* found = new (std::nothrow) Api;  // leaked: readers hold plain references until the process ends
    if (found == nullptr)
        return;
    bool any = false;
    const auto look_up = [&](const char* name) {
        void* pointer = find(context, name);
        any = any || pointer != nullptr;
        return pointer;
    };
#define FUNCTION(symbol) found->symbol = reinterpret_cast<decltype(found->symbol)>(look_up(#symbol));
#include "driver/functions.def"
#undef FUNCTION
    if (any)
        published.store(found, std::memory_order_release);
    else
        delete found;
}

const char* result_name(CUresult result) noexcept {
    const char* name = nullptr;
    if (api().cuGetErrorName != nullptr && api().cuGetErrorName(result, &name) == CUDA_SUCCESS && name != nullptr)
        return name;
    static thread_local char unknown[32];
    std::snprintf(unknown, sizeof unknown, "CUresult %d", static_cast<int>(result));
    return unknown;
}

}  // namespace keepgraph::driver
