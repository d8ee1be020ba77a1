// SPDX-License-Identifier: Apache-2.0
//
// Writing to stderr without waiting for who reads it, also where descriptor 2 is a blocking one.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>

namespace keepgraph::log {

bool same_file(const struct stat& a, const struct stat& b) noexcept;

/// Writes to descriptor 2, which was just seen to be `file`, what it takes at once: the bytes written, or -1 with the
/// errno, EAGAIN where there is no room. A regular file takes it all. Signals are the caller's concern. Any thread.
ssize_t write_without_waiting(const struct stat& file, const char* text, std::size_t size) noexcept;

/// Whether descriptor 2 has room, or comes to have some within `timeout_ms`.
bool has_room(int timeout_ms) noexcept;

/// How much of the text a pipe takes whole or not at all: PIPE_BUF bytes at most, up to an end of a line if there is
/// one, so that no other writer's line comes into the middle of one.
std::size_t piece_of(const char* text, std::size_t size) noexcept;

}  // namespace keepgraph::log
