// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace keepgraph::trace {

enum class ReadResult { ok, bad_address, not_permitted };

/// Copies `size` bytes from `address` of this process to `to`, or says why not; a wild address never faults.
///
/// Done by process_vm_readv on ourselves: the kernel answers EFAULT where a load would raise SIGSEGV. The rejected
/// alternatives: a SIGSEGV handler (the host owns its signals) and /proc/self/mem (needs an open file).
/// Some seccomp profiles forbid the call; that is `not_permitted`. Any thread, no lock, one system call.
ReadResult read_memory(std::uintptr_t address, void* to, std::size_t size) noexcept;

/// One piece of a batch: `size` bytes from `address` to `to`.
struct ReadPiece {
    std::uintptr_t address;
    void* to;
    std::size_t size;
};

/// Reads the pieces in order with one system call per 512 of them (a call costs much, one more piece in it little).
/// Returns how many leading pieces were read whole; `result` says why it stopped, ok when it read all.
std::size_t read_pieces(std::span<const ReadPiece> pieces, ReadResult& result) noexcept;

}  // namespace keepgraph::trace
