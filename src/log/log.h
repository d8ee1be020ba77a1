// SPDX-License-Identifier: Apache-2.0
//
// What keepgraph says on stderr. Any thread; errno stays; nothing is thrown, and a stderr that is closed, gone or full
// costs the line, never the program.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "config/settings.h"

namespace keepgraph::log {

/// What descriptor 2 is now is stderr: to be called before the program's own code runs. From then on lines are kept
/// back while the number belongs to something else (log.cpp says to what). Never called: whatever 2 is, is stderr.
void remember_stderr() noexcept;

/// From which level on say() prints. `warn` until it is called. Does not concern line().
void set_level(config::LogLevel level) noexcept;
bool enabled(config::LogLevel level) noexcept;

/// Always printed: findings, settings problems, the last line. One write of "keepgraph: TEXT\n", or several when the
/// reader is behind. A newline inside `text` starts another line with the same prefix; other control characters become
/// '?'. Waits while the reader makes room, and 100 ms for one that does not.
void line(std::string_view text) noexcept;

/// A line, when its level is enabled.
void say(config::LogLevel level, std::string_view text) noexcept;

/// line(), at the first call with this flag only.
void once(std::atomic<bool>& said, std::string_view text) noexcept;

/// Lines that did not get to stderr.
std::uint64_t lost() noexcept;

}  // namespace keepgraph::log
