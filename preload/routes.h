// SPDX-License-Identifier: Apache-2.0
//
// Which function a cudart wrapper forwards to, by the module that calls.
//
// Nothing keeps the modules loaded, so a route that was found is checked at every use, against what the loader says and
// what the loaded objects say of themselves. All of it is read without a lock, and only where an object certainly lies:
// the caller is there because it will be returned to, the function's module because the loader just said so.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>

#include "modules.h"

namespace keepgraph::preload {

/// Where a module says which cudart it needs, and what it says. Another module in its place, in a link_map at the same
/// address, may need another cudart; both may be of the same size.
struct Needed {
    const ElfW(Dyn) * section =
        nullptr;  ///< the module's; null: nothing to check, it is never unloaded, or there is none
    const ElfW(Dyn) * entry = nullptr;    ///< DT_NEEDED, null when no cudart is needed
    const ElfW(Dyn) * strings = nullptr;  ///< DT_STRTAB
    std::uint64_t length = 0;             ///< of the name
    std::uint64_t tail = 0;               ///< the last eight bytes of the name, where versions differ

    const char* name(const link_map* map) const noexcept {
        return table_at<char>(map->l_addr, *strings) + entry->d_un.d_val;
    }
    static std::uint64_t last_bytes(const char* name, std::uint64_t length) noexcept {
        std::uint64_t bytes = 0;
        std::memcpy(&bytes, name + length + 1 - sizeof bytes, sizeof bytes);  // with the terminating zero
        return bytes;
    }
    bool holds(const link_map* map) const noexcept {
        if (section == nullptr)
            return true;
        if (section != map->l_ld)
            return false;
        return entry == nullptr ||
               (entry->d_tag == DT_NEEDED && strings->d_tag == DT_STRTAB && last_bytes(name(map), length) == tail);
    }
};

/// A function, and by what it is recognised: the module that lies there now still gives this very address for this very
/// entry of its symbol table. Place and size alone would not do: two builds of one library may agree in both.
struct Target {
    void* address = nullptr;
    Module module;                        ///< none: it is never unloaded
    const ElfW(Dyn) * section = nullptr;  ///< the module's
    const ElfW(Dyn) * symbols = nullptr;  ///< DT_SYMTAB
    std::uint32_t index = 0;              ///< of the function in there
    std::uint32_t name = 0;               ///< its st_name

    bool holds() const noexcept {
        if (module.map == nullptr)
            return true;
        if (module_of(address) != module || module.map->l_ld != section || symbols->d_tag != DT_SYMTAB)
            return false;
        const std::uintptr_t base = module.map->l_addr;
        const ElfW(Sym)& symbol = table_at<ElfW(Sym)>(base, *symbols)[index];
        return symbol.st_name == name && base + symbol.st_value == reinterpret_cast<std::uintptr_t>(address);
    }
};

struct Route {
    Module caller;
    Needed needed;
    Target target;

    bool holds() const noexcept { return needed.holds(caller.map) && target.holds(); }
};

/// The routes of one function, for all threads. No lock, no allocation: a thread that finds an entry being written
/// takes the slow way. A caller that is replaced, at the same place, by one of the same size which has the same cudart
/// in its list of needed libraries, or none, but reaches another one, keeps the route while the first cudart is loaded.
///
/// Rejected: a cache per thread, whose entries every new thread makes again and every thread pays memory for; one keyed
/// by call site, which two call sites push each other out of; dl_iterate_phdr's count of unloaded objects as the check,
/// which takes a lock.
class Routes {
  public:
    void* function(const char* name, const void* caller) noexcept {
        for (const Lasting& lasting : lasting_)
            if (lasting.covers(caller))
                return lasting.function.load(std::memory_order_relaxed);
        const Module from = module_of(caller);
        Route route;
        for (unsigned probe = 0; probe < probes; ++probe)
            if (slot(from, probe).read(from, route) && route.holds())
                return route.target.address;
        return find(name, from);
    }

  private:
    /// Caller and function are of the start, so nothing of it ever changes. Written once: the program itself and what
    /// it links to pay no look at the loader's table. The others of the start have a slot.
    struct Lasting {
        std::atomic<std::uintptr_t> begin{0};
        std::atomic<std::uintptr_t> size{0};  // written last
        std::atomic<void*> function{nullptr};

        bool covers(const void* address) const noexcept {
            const std::uintptr_t bytes = size.load(std::memory_order_acquire);
            return reinterpret_cast<std::uintptr_t>(address) - begin.load(std::memory_order_relaxed) < bytes;
        }
    };

    static constexpr unsigned slots = 32;
    static constexpr unsigned probes = 4;
    using Words = std::array<std::uintptr_t, sizeof(Route) / sizeof(std::uintptr_t)>;
    static_assert(sizeof(Words) == sizeof(Route));
    static_assert(std::has_unique_object_representations_v<Route>, "padding would be copied");

    struct Slot {
        std::atomic<unsigned> version{0};  // 0: empty, odd: being written
        std::atomic<std::uintptr_t> words[std::tuple_size_v<Words>]{};

        std::uintptr_t caller_begin() const noexcept {
            static_assert(offsetof(Route, caller) + offsetof(Module, begin) == sizeof(std::uintptr_t));
            return words[1].load(std::memory_order_relaxed);
        }
        bool read(const Module& caller, Route& route) const noexcept {
            const unsigned before = version.load(std::memory_order_acquire);
            if (caller_begin() != caller.begin || before == 0 || before % 2 != 0)
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
    void* find(const char* name, const Module& caller) noexcept;

    Lasting lasting_[2];
    std::atomic<unsigned> lastings_{0};
    Slot slots_[slots];
};

}  // namespace keepgraph::preload
