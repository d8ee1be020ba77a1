// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace keepgraph::trace {

/// `function+0x12 (libfoo.so)` from dynamic symbol tables only, demangled and cut at 200 characters;
/// `libfoo.so+0x1234` (offset from the load bias, good for addr2line) without an exported symbol;
/// `0x7f0012345678` outside every loaded object.
/// Any thread; allocates; up to a millisecond in a library with many exports: for stderr reports, not for launches.
/// Takes the loader's list lock (dl_iterate_phdr), not the one that dlopen holds while constructors run. Never throws.
std::string describe_address(const void* pc) noexcept;

/// The same for a return address as capture_native gives it: the symbol is looked up one byte before, since a call at
/// the very end of a function returns to the first byte of the next one. The offset printed is that of `pc`.
std::string describe_return_address(const void* pc) noexcept;

/// Name of the calling thread as the kernel has it (at most 15 bytes), "" when it cannot be had. One system call.
std::string thread_name() noexcept;

/// Kernel's id of the calling thread (gettid). Kept in thread-local storage, about 1 ns; right in forked children too.
long thread_id() noexcept;

}  // namespace keepgraph::trace
