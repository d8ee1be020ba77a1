// SPDX-License-Identifier: Apache-2.0
#include "routes.h"

#include <cstring>
#include <iterator>

#include "trace/elf_symbols.h"

namespace keepgraph::preload {
namespace {

bool in_cudart(void* function) {
    const Module module = module_of(function);
    return module.map != nullptr && std::strstr(module.map->l_name, "libcudart.so") != nullptr;
}

/// What a call by symbol from `caller` would have reached without us, or would reach if symbols had their versions.
void* function_for(const char* name, const Module& caller, const Needed& needed) {
    // Another preloaded library comes before every cudart, as it would without us.
    void* const after_us = next_of_start(name);
    if (after_us != nullptr && !in_cudart(after_us))
        return after_us;
    void* function = nullptr;
    if (needed.length != 0) {
        const link_map* const cudart = loaded_as(name_of(needed, caller.map)).map;
        function = cudart != nullptr ? trace::find_symbol_in(cudart, name) : nullptr;
    } else if (caller.map != nullptr && !is_of_start(caller.map)) {
        // Not for an object of the start: its scope is the global one, and a preload before us would find itself.
        function = find_in_scope(caller.map, name);
    }
    if (function == nullptr)
        function = after_us;
    // Reached by a scope that only the loader knows: the global one with what dlopen added to it, or that of a parent.
    // The first in load order stands for both; where there is none, the call had not come here.
    return function != nullptr ? function : find_in_later(name);
}

}  // namespace

void Routes::Slot::write(const Route& route) noexcept {
    unsigned before = version.load(std::memory_order_relaxed);
    if (before % 2 != 0 || !version.compare_exchange_strong(before, before + 1, std::memory_order_acquire))
        return;
    std::atomic_thread_fence(std::memory_order_release);
    const auto copy = std::bit_cast<Words>(route);
    for (unsigned i = 0; i < copy.size(); ++i)
        words[i].store(copy[i], std::memory_order_relaxed);
    version.store(before + 2 != 0 ? before + 2 : 2, std::memory_order_release);
}

void* Routes::find(const char* name, const Module& caller) noexcept {
    Route route{caller, {}, {}, nullptr};
    if (caller.map != nullptr)
        route.needed = needed_cudart(caller.map);
    route.function = function_for(name, caller, route.needed);
    if (route.function == nullptr)
        return nullptr;
    const Module callee = module_of(route.function);
    if (!is_of_start(callee.map)) {
        route.callee = callee;
    } else if (is_of_start(caller.map) && lastings_.load(std::memory_order_relaxed) < std::size(lasting_)) {
        // Threads that come together may take one entry each: a slot is left for the others then.
        const unsigned index = lastings_.fetch_add(1, std::memory_order_relaxed);
        if (index < std::size(lasting_)) {
            lasting_[index].begin.store(caller.begin, std::memory_order_relaxed);
            lasting_[index].function.store(route.function, std::memory_order_relaxed);
            lasting_[index].size.store(caller.end - caller.begin, std::memory_order_release);
            return route.function;
        }
    }
    // In place of an older entry for the same address, else in an empty slot, else at the first.
    Slot* best = nullptr;
    for (unsigned probe = 0; probe < probes; ++probe) {
        Slot& candidate = slot(caller, probe);
        const bool empty = candidate.version.load(std::memory_order_relaxed) == 0;
        if (!empty && candidate.words[1].load(std::memory_order_relaxed) == caller.begin) {
            best = &candidate;
            break;
        }
        if (empty && best == nullptr)
            best = &candidate;
    }
    (best != nullptr ? *best : slot(caller, 0)).write(route);
    return route.function;
}

}  // namespace keepgraph::preload
