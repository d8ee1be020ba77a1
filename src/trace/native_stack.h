// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace keepgraph::trace {

/// Most frames one stack keeps; deeper stacks lose their outermost frames.
inline constexpr std::size_t max_frames = 48;

/// Raw return addresses of one thread, innermost first. Only the first `count` frames are set.
struct NativeStack {
    std::uint32_t count = 0;
    void* frames[max_frames];
};

/// Writes the calling thread's stack to `out`, without symbols.
///
/// Frames of the object that contains this code (the preloaded library) are dropped from the inner end, so the first
/// frame is the host's call into us. Where this code is part of the main program (unit tests, the command), only
/// capture_native itself is dropped.
/// Any thread, no allocation, no lock but the loader's list lock at the first call; async-signal-safe afterwards as far
/// as the unwinder is. errno stays. 0.2 to 0.4 us per frame (README.md). Cannot fail; `count` is 0 without unwind
/// tables.
void capture_native(NativeStack& out) noexcept;

}  // namespace keepgraph::trace
