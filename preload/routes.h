// SPDX-License-Identifier: Apache-2.0
//
// Which function a cudart wrapper forwards to, by the module that calls.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "modules.h"

namespace keepgraph::preload {

struct Route {
    Module caller;
    Needed needed;
    Module callee;  ///< none when it is never unloaded
    void* function = nullptr;
};

/// The routes of one function, for all threads. No lock, no allocation: a thread that finds an entry being written
/// takes the slow way.
///
/// Nothing keeps the modules loaded, so an entry is checked at every use: the caller's object and the function's are
/// the ones that they were (link_map, first and last address), and the caller still needs the same cudart. What can
/// still go wrong: a module is unloaded, and another one has all of that in common while its functions lie elsewhere
/// or its scope (without a cudart in its own list) holds another cudart. Two builds of one cudart, both of the same
/// size in memory and loaded one after the other at the same address, would be such a case.
///
/// Rejected: a cache per thread, whose entries every new thread makes again and every thread pays memory for; one keyed
/// by call site, which two call sites push each other out of.
class Routes {
  public:
    void* function(const char* name, const void* caller) noexcept {
        for (const Lasting& lasting : lasting_)
            if (lasting.covers(caller))
                return lasting.function.load(std::memory_order_relaxed);
        const Module from = module_of(caller);
        Route route;
        for (unsigned probe = 0; probe < probes; ++probe)
            if (slot(from, probe).read(from, route) && holds(route))
                return route.function;
        return find(name, from);
    }

  private:
    /// Caller and function are of the start, so nothing of it ever changes. Written once.
    struct Lasting {
        std::atomic<std::uintptr_t> begin{0};
        std::atomic<std::uintptr_t> size{0};  // written last
        std::atomic<void*> function{nullptr};

        bool covers(const void* address) const noexcept {
            const std::uintptr_t bytes = size.load(std::memory_order_acquire);
            return reinterpret_cast<std::uintptr_t>(address) - begin.load(std::memory_order_relaxed) < bytes;
        }
    };

    static constexpr unsigned slots = 16;
    static constexpr unsigned probes = 4;
    using Words = std::array<std::uintptr_t, sizeof(Route) / sizeof(std::uintptr_t)>;
    static_assert(sizeof(Words) == sizeof(Route));  // no padding

    struct Slot {
        std::atomic<unsigned> version{0};  // 0: empty, odd: being written
        static_assert(offsetof(Route, caller) + offsetof(Module, begin) == sizeof(std::uintptr_t), "word 1");
        std::atomic<std::uintptr_t> words[std::tuple_size_v<Words>]{};

        bool read(const Module& caller, Route& route) const noexcept {
            const unsigned before = version.load(std::memory_order_acquire);
            if (words[1].load(std::memory_order_relaxed) != caller.begin || before == 0 || before % 2 != 0)
                return false;
            Words copy;
            for (unsigned i = 0; i < copy.size(); ++i)
                copy[i] = words[i].load(std::memory_order_relaxed);
            std::atomic_thread_fence(std::memory_order_acquire);
            if (version.load(std::memory_order_relaxed) != before)
                return false;
            route = std::bit_cast<Route>(copy);
            return route.caller == caller;
        }
        void write(const Route& route) noexcept;
    };

    Slot& slot(const Module& caller, unsigned probe) noexcept {
        const std::uint64_t mixed = (caller.begin >> 12) * 0x9e3779b97f4a7c15U;
        return slots_[((mixed >> 32) + probe) % slots];
    }
    static bool holds(const Route& route) noexcept {
        return (route.caller.map == nullptr || still_needed(route.needed, route.caller.map)) &&
               (route.callee.map == nullptr || module_of(route.function) == route.callee);
    }
    void* find(const char* name, const Module& caller) noexcept;

    Lasting lasting_[2];
    std::atomic<unsigned> lastings_{0};
    Slot slots_[slots];
};

}  // namespace keepgraph::preload
