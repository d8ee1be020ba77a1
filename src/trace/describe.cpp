// SPDX-License-Identifier: Apache-2.0
#include "trace/describe.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>

#include "trace/demangle.h"
#include "trace/elf_symbols.h"
#include "trace/quiet_scope.h"

namespace keepgraph::trace {
namespace {

constexpr std::size_t longest_name = 200;

std::string hex(std::uintptr_t value) {
    char text[2 + 16 + 1];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    return text;
}

std::string readable_name(const std::string& symbol) {
    std::string name = demangled(symbol);
    if (name.size() > longest_name) {  // template instances reach thousands of characters, a line on stderr must not
        name.resize(longest_name - 3);
        name += "...";
    }
    return name;
}

std::string describe(std::uintptr_t pc, std::uintptr_t lookup_pc) noexcept {
    const QuietScope quiet;
    try {
        NearestSymbol nearest;
        if (!nearest_symbol(lookup_pc, nearest)) {
            return hex(pc);
        }
        const std::string module = nearest.module.substr(nearest.module.rfind('/') + 1);
        if (nearest.symbol.empty()) {
            return module + "+" + hex(pc - nearest.module_base);
        }
        return readable_name(nearest.symbol) + "+" + hex(pc - nearest.symbol_address) + " (" + module + ")";
    } catch (...) {
        return {};
    }
}

thread_local long cached_id = 0;
constinit std::atomic<bool> fork_handler_set{false};

void forget_id_in_child() {
    cached_id = 0;  // the child's only thread is a copy of the one that forked, with another kernel id
}

}  // namespace

std::string describe_address(const void* pc) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(pc);
    return describe(address, address);
}

std::string describe_return_address(const void* pc) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(pc);
    return describe(address, address != 0 ? address - 1 : 0);
}

std::string thread_name() noexcept {
    const QuietScope quiet;
    char name[16 + 1] = {};
    // prctl, not pthread_getname_np: the latter opens a file for any thread but the caller, and this one never does.
    if (prctl(PR_GET_NAME, name) != 0) {
        return {};
    }
    return name;  // at most 15 bytes: fits the string's own buffer, so no allocation
}

long thread_id() noexcept {
    long id = cached_id;
    if (id != 0) {
        return id;
    }
    // Only a child's copied cache can be wrong, so fork is watched rather than getpid() asked at every call.
    if (!fork_handler_set.exchange(true, std::memory_order_acq_rel)) {
        pthread_atfork(nullptr, nullptr, forget_id_in_child);
    }
    id = gettid();
    cached_id = id;
    return id;
}

}  // namespace keepgraph::trace
