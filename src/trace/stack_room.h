// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace keepgraph::trace {

/// Bytes left on the calling thread's stack. 0 when they cannot be known: a fibre, a stack made by hand. Asks pthread
/// once per thread; afterwards about 2 ns. errno stays.
std::size_t stack_room() noexcept;

/// Room that book-keeping needs at most: symbol look-up, JSON, one line of text (measured: under 24 KB).
inline constexpr std::size_t ample_stack = std::size_t{40} << 10;

/// Runs `work(context)`, which must not throw: directly when `wanted` bytes are left, else on a stack of its own of
/// 256 KB, since a thread of PTHREAD_STACK_MIN that calls the driver must not overflow because of us. One inside
/// another stays on that stack. False: there was no memory for it, and nothing was run. Any thread.
bool run_with_room(void (*work)(void* context), void* context, std::size_t wanted = ample_stack) noexcept;

/// True inside a run_with_room() that moved to another stack: the thread's frames cannot be walked from there.
bool on_side_stack() noexcept;

}  // namespace keepgraph::trace
