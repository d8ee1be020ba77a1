// SPDX-License-Identifier: Apache-2.0
#include "routes.h"

#include <iterator>

#include "bound.h"
#include "trace/elf_symbols.h"

namespace keepgraph::preload {
namespace {

Needed needed_cudart(const link_map* map) {
    Needed needed{map->l_ld, nullptr, entry_of(map->l_ld, DT_STRTAB), 0, 0};
    if (needed.strings == nullptr)
        return needed;
    for (needed.entry = entry_of(map->l_ld, DT_NEEDED); needed.entry != nullptr;
         needed.entry = entry_of(needed.entry + 1, DT_NEEDED)) {
        const char* const name = needed.name(map);
        if (is_cudart_name(name)) {
            needed.length = std::strlen(name);
            needed.tail = Needed::last_bytes(name, needed.length);
            break;
        }
    }
    return needed;
}

/// What a call by symbol from `caller` would have reached without us, or would reach if symbols had their versions.
void* function_for(const char* name, const link_map* caller, const Needed& needed) {
    // Another preloaded library comes before every cudart, as it would without us.
    void* const after_us = next_of_start(name);
    if (after_us != nullptr && !in_cudart(after_us))
        return after_us;
    const link_map* const bound = caller != nullptr ? bound_cudart(caller) : nullptr;
    void* function = bound != nullptr ? trace::find_symbol_in(bound, name) : nullptr;
    if (function != nullptr)
        return function;
    if (needed.entry != nullptr) {
        const link_map* const cudart = loaded_as(needed.name(caller)).map;
        function = cudart != nullptr ? trace::find_symbol_in(cudart, name) : nullptr;
    } else if (caller != nullptr && !is_of_start(caller)) {
        // Not for an object of the start: its scope is the global one, and a preload before us would find itself.
        function = find_in_scope(caller, name);
    }
    if (function == nullptr)
        function = after_us;
    // Reached by a scope that only the loader knows: the global one with what dlopen added to it, or that of a parent.
    // The first in load order stands for both; where there is none, the call had not come here.
    return function != nullptr ? function : find_in_later(name);
}

/// False when the module does not say the address by this name: then it could not be checked later.
bool describe(Target& target, const char* name) {
    const Module module = module_of(target.address);
    if (module.map == nullptr)
        return false;
    if (is_of_start(module.map))
        return true;
    const ElfW(Sym)* const symbol = trace::symbol_in(module.map, name);
    target.module = module;
    target.section = module.map->l_ld;
    target.symbols = entry_of(target.section, DT_SYMTAB);
    if (symbol == nullptr || target.symbols == nullptr)
        return false;
    target.index = static_cast<std::uint32_t>(symbol - table_at<ElfW(Sym)>(module.map->l_addr, *target.symbols));
    target.name = symbol->st_name;
    return target.holds();
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
    Route route;
    route.caller = caller;
    if (caller.map != nullptr)
        route.needed = needed_cudart(caller.map);
    route.target.address = function_for(name, caller.map, route.needed);
    if (route.target.address == nullptr || !describe(route.target, name))
        return route.target.address;
    if (is_of_start(caller.map)) {
        route.needed = {};
        // Threads that come together may take one entry each: a slot is left for the others then.
        const bool lasts =
            route.target.module.map == nullptr && lastings_.load(std::memory_order_relaxed) < std::size(lasting_);
        const unsigned index = lasts ? lastings_.fetch_add(1, std::memory_order_relaxed) : std::size(lasting_);
        if (index < std::size(lasting_)) {
            lasting_[index].begin.store(caller.begin, std::memory_order_relaxed);
            lasting_[index].function.store(route.target.address, std::memory_order_relaxed);
            lasting_[index].size.store(caller.end - caller.begin, std::memory_order_release);
            return route.target.address;
        }
    }
    // In place of an older entry for the same address, else in an empty slot, else at the first.
    Slot* best = nullptr;
    for (unsigned probe = 0; probe < probes; ++probe) {
        Slot& candidate = slot(caller, probe);
        const bool empty = candidate.version.load(std::memory_order_relaxed) == 0;
        if (!empty && candidate.caller_begin() == caller.begin) {
            best = &candidate;
            break;
        }
        if (empty && best == nullptr)
            best = &candidate;
    }
    (best != nullptr ? *best : slot(caller, 0)).write(route);
    return route.target.address;
}

}  // namespace keepgraph::preload
