// SPDX-License-Identifier: Apache-2.0
//
// The shim's own heap: what keepgraph allocates never comes from the host's malloc. A driver that reads its own freed
// memory (replaying a copy from a freed pinned block does) then finds what it finds without the shim, an allocator
// that the host brings sees none of our calls, and a host that damages its heap does not damage the record of it.
//
// Rejected: an arena of glibc's malloc (there is no interface to have a private one); mimalloc or jemalloc linked
// statically (both want thread-exit hooks and static TLS of every host, and both define malloc).
//
// Thread rules: any thread, any time after the loader has relocated the shim, static initialisers included; not from a
// signal handler.
#pragma once

#include <cstddef>

namespace keepgraph::heap {

/// `bytes` bytes at a multiple of `alignment` (a power of two). Null when the kernel gives no memory.
void* allocate(std::size_t bytes, std::size_t alignment) noexcept;
/// Takes what allocate() gave; null is allowed. Small blocks are kept for the next allocate(), big ones go back to the
/// kernel.
void release(void* pointer) noexcept;

/// For pthread_atfork's child handler: another thread may have been inside when the process forked. What is allocated
/// from now on comes from new pools, and releasing what came before does nothing; without memory for new pools nothing
/// is given out any more. A prepare handler that takes the lock instead would hang where a signal handler that
/// interrupted allocate() forks.
void abandon_in_child() noexcept;

}  // namespace keepgraph::heap
