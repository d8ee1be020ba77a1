// SPDX-License-Identifier: Apache-2.0
#include "trace/native_stack.h"

#include <link.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include <boost/stacktrace/safe_dump_to.hpp>

namespace keepgraph::trace {
namespace {

/// Where the object that contains this code lies. Constant-initialised and trivially destructible: usable before our
/// constructors and after every static destructor of the host.
struct OwnObject {
    std::atomic<bool> known{false};
    std::atomic<std::uintptr_t> begin{0};
    std::atomic<std::uintptr_t> end{0};  ///< equal to begin: main program, drop nothing by address
};
constinit OwnObject own_object;

int find_own_object(dl_phdr_info* info, std::size_t, void*) {
    const auto here = reinterpret_cast<std::uintptr_t>(&find_own_object);
    std::uintptr_t begin = UINTPTR_MAX;
    std::uintptr_t end = 0;
    for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
        const auto& header = info->dlpi_phdr[i];
        if (header.p_type != PT_LOAD) {
            continue;
        }
        const std::uintptr_t start = info->dlpi_addr + header.p_vaddr;
        begin = start < begin ? start : begin;
        end = start + header.p_memsz > end ? start + header.p_memsz : end;
    }
    if (here < begin || here >= end) {
        return 0;
    }
    const bool main_program = info->dlpi_name == nullptr || info->dlpi_name[0] == '\0';
    own_object.begin.store(begin, std::memory_order_relaxed);
    own_object.end.store(main_program ? begin : end, std::memory_order_relaxed);
    return 1;
}

}  // namespace

// noinline: the frame that is skipped below must exist.
__attribute__((noinline)) void capture_native(NativeStack& out) noexcept {
    const int saved_errno = errno;
    if (!own_object.known.load(std::memory_order_acquire)) {
        // Two threads may both search: they find and store the same numbers, so no lock is worth having.
        dl_iterate_phdr(find_own_object, nullptr);
        own_object.known.store(true, std::memory_order_release);
    }
    // Room for our own frames, which are dropped afterwards, and for the zero that Boost writes behind the last frame.
    constexpr std::size_t own_frames_at_most = 16;
    void* raw[max_frames + own_frames_at_most + 1];
    const std::size_t written = boost::stacktrace::safe_dump_to(1, raw, sizeof raw);
    const std::size_t total = written > 0 ? written - 1 : 0;

    const std::uintptr_t begin = own_object.begin.load(std::memory_order_relaxed);
    const std::uintptr_t size = own_object.end.load(std::memory_order_relaxed) - begin;
    std::size_t first = 0;
    while (first < total && reinterpret_cast<std::uintptr_t>(raw[first]) - begin < size) {
        ++first;
    }
    const std::size_t count = total - first < max_frames ? total - first : max_frames;
    std::memcpy(out.frames, raw + first, count * sizeof(void*));
    out.count = static_cast<std::uint32_t>(count);
    errno = saved_errno;
}

}  // namespace keepgraph::trace
