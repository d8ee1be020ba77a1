// SPDX-License-Identifier: Apache-2.0
#include "log/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// Neither is printed, and a thread-local cache of the thread's id would be wrong in a forked child.
#define SPDLOG_NO_THREAD_ID
#define SPDLOG_NO_TLS
#include <spdlog/logger.h>
#include <spdlog/sinks/sink.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "log/held_signals.h"
#include "log/no_wait.h"
#include "trace/quiet_scope.h"

namespace keepgraph::log {
namespace {

using Level = spdlog::level::level_enum;
constexpr Level always = spdlog::level::critical;  // above every level that set_level() can ask for

std::atomic<std::uint64_t> lost_lines{0};
std::atomic<bool> reader_stuck{false};  // nothing was read for as long as we wait
std::atomic<bool> cut_line{false};      // the last line got out in part
std::atomic<unsigned> writes_made{0};   // that stderr took, of all threads

/// A reader that makes room within this time gets every line. One that does not is waited for once, and then no more
/// until there is room again: a finding has many lines, and the program may be one that says nothing itself.
constexpr long patience_ms = 100;
/// poll() calls a socket full until most of it was read; a write need not.
constexpr long look_again_ms = 10;

long now_ms() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/// The waiting of one thread for room.
class Patience {
  public:
    /// Waits for some of it; false when it has run out. It is full again when stderr took something from any thread.
    bool wait() noexcept {
        const unsigned writes = writes_made.load(std::memory_order_relaxed);
        const long now = now_ms();
        if (ends_ == 0 || writes != writes_before_) {
            ends_ = now + patience_ms;
            writes_before_ = writes;
        }
        if (now >= ends_ || reader_stuck.load(std::memory_order_relaxed))
            return false;
        (void)has_room(static_cast<int>(std::min(ends_ - now, look_again_ms)));
        return true;
    }

  private:
    long ends_ = 0;
    unsigned writes_before_ = 0;
};

struct RememberedStderr {
    bool asked = false;
    bool open = false;
    struct stat file {};
};
RememberedStderr remembered;  // written before other threads run

/// Whether descriptor 2 is stderr. A program that closes it gets its number for the next file or socket that it opens,
/// and lines of ours would be in its data. So another file than at the start is taken for stderr only when it was put
/// there on purpose, which two things show: it is opened to write and append and nothing else (a log, as by
/// freopen(..., "a", stderr)), or it is what descriptor 1 is, opened in the same way (as daemons do). A descriptor that
/// is closed on exec is nobody's stderr, and where there was none at the start none comes.
///
/// Rejected: every pipe and terminal too. A program may have closed 1 and 2 and speak some protocol over them; a lost
/// line is in the recording, damaged data is nowhere else. Also rejected: a duplicate of 2 under another number, which
/// would keep a reader waiting for the end of a pipe that the program has closed.
/// `now` is what it is.
bool is_stderr(struct stat& now) noexcept {
    if (::fstat(STDERR_FILENO, &now) != 0)
        return false;
    if (!remembered.asked)
        return true;
    if (!remembered.open)
        return false;
    if (same_file(now, remembered.file))
        return true;
    const int how = ::fcntl(STDERR_FILENO, F_GETFL);
    const int on_exec = ::fcntl(STDERR_FILENO, F_GETFD);
    if (how < 0 || on_exec != 0 || (how & O_ACCMODE) == O_RDONLY)
        return false;
    if (S_ISREG(now.st_mode) && (how & O_ACCMODE) == O_WRONLY && (how & O_APPEND) != 0)
        return true;
    struct stat out {};
    return ::fstat(STDOUT_FILENO, &out) == 0 && same_file(now, out) && ::fcntl(STDOUT_FILENO, F_GETFL) == how;
}

/// In one write where there is room for it. What there was none for follows in pieces as the reader makes room, and
/// other writers' lines may come between: before the first of them in the middle of a line, since a pipe takes a part
/// of what is longer than PIPE_BUF, and a terminal of anything.
///
/// Rejected: pieces from the start. Findings of several threads, or of several processes with one stderr, would mix.
void write_out(const char* text, std::size_t size) noexcept {
    HeldSignals held(HeldSignals::Which::writes);
    // Not when something fits: a short line may get into what is left of a full pipe's last page, and nobody has read.
    if (reader_stuck.load(std::memory_order_relaxed) && has_room(0))
        reader_stuck.store(false, std::memory_order_relaxed);
    Patience patience;
    bool in_pieces = reader_stuck.load(std::memory_order_relaxed);
    std::size_t done = 0;
    while (done < size) {
        struct stat now {};
        if (!is_stderr(now))
            break;
        const std::size_t left = size - done;
        const auto wrote = write_without_waiting(now, text + done, in_pieces ? piece_of(text + done, left) : left);
        if (wrote > 0) {
            done += static_cast<std::size_t>(wrote);
            writes_made.fetch_add(1, std::memory_order_relaxed);
            in_pieces = true;
            continue;
        }
        const int reason = wrote == 0 ? EIO : errno;
        if (reason == EINTR)
            continue;
        held.write_failed(reason);
        if (reason != EAGAIN)
            break;
        if (!patience.wait()) {
            reader_stuck.store(true, std::memory_order_relaxed);
            break;
        }
        in_pieces = true;
    }
    if (done < size) {
        // The text begins with the end of a line that was cut before, if there was one.
        if (done > 0 ? text[done - 1] != '\n' : text[0] == '\n')
            cut_line.store(true, std::memory_order_relaxed);
        lost_lines.fetch_add(1, std::memory_order_relaxed);
    }
}

/// Hands the lines to `put`, character by character.
template <class Put>
void compose(std::string_view text, Put put) {
    constexpr std::string_view prefix = "keepgraph: ";
    if (cut_line.exchange(false, std::memory_order_relaxed))
        put('\n');
    std::for_each(prefix.begin(), prefix.end(), put);
    for (const char c : text) {
        const auto code = static_cast<unsigned char>(c);
        put(c != '\n' && (code < 0x20 || code == 0x7f) ? '?' : c);
        if (c == '\n')
            std::for_each(prefix.begin(), prefix.end(), put);
    }
    put('\n');
}

/// Without memory for the whole text it goes out in pieces, between which another thread's lines may come: a finding is
/// not lost by it. A piece ends where a line does, unless that is longer than a piece.
void write_in_pieces(std::string_view text) noexcept {
    char piece[1024];
    std::size_t size = 0;
    std::size_t whole = 0;  // bytes of it up to the last end of a line
    compose(text, [&](char c) {
        piece[size++] = c;
        if (c == '\n')
            whole = size;
        if (size < sizeof piece)
            return;
        const std::size_t out = whole > 0 ? whole : size;
        write_out(piece, out);
        std::memmove(piece, piece + out, size - out);
        size -= out;
        whole = 0;
    });
    if (size > 0)
        write_out(piece, size);
}

/// No lock: a line is one write, and a thread that waits for a slow stderr must not stop the others. Derived from
/// sink and not from base_sink<null_mutex>, which brings spdlog's pattern formatter and with it the local time.
class Stderr final : public spdlog::sinks::sink {
  public:
    void log(const spdlog::details::log_msg& message) override {
        const std::string_view text(message.payload.data(), message.payload.size());
        spdlog::memory_buf_t out;
        try {
            compose(text, [&](char c) { out.push_back(c); });
        } catch (...) {
            write_in_pieces(text);
            return;
        }
        write_out(out.data(), out.size());
    }
    void flush() override {}
    void set_pattern(const std::string&) override {}
    void set_formatter(std::unique_ptr<spdlog::formatter>) override {}
};

/// Made at the first use, then leaked: lines are written until the very end of the process. Not a function static,
/// whose guard a forked child could find taken by a thread that it does not have.
spdlog::logger& logger() {
    static std::atomic<spdlog::logger*> current{nullptr};
    if (spdlog::logger* const made = current.load(std::memory_order_acquire))
        return *made;
    auto fresh = std::make_unique<spdlog::logger>("keepgraph", std::make_shared<Stderr>());
    fresh->set_level(spdlog::level::warn);
    // spdlog's own handler prints with the local time, which opens the time zone file.
    fresh->set_error_handler([](const std::string&) { lost_lines.fetch_add(1, std::memory_order_relaxed); });
    spdlog::logger* expected = nullptr;
    if (current.compare_exchange_strong(expected, fresh.get(), std::memory_order_acq_rel))
        return *fresh.release();
    return *expected;
}

Level level_of(config::LogLevel level) noexcept {
    switch (level) {
        case config::LogLevel::trace:
            return spdlog::level::trace;
        case config::LogLevel::debug:
            return spdlog::level::debug;
        case config::LogLevel::info:
            return spdlog::level::info;
        case config::LogLevel::warn:
            return spdlog::level::warn;
        case config::LogLevel::error:
            return spdlog::level::err;
        case config::LogLevel::off:
            break;
    }
    return always;
}

void put(Level level, std::string_view text) noexcept {
    const trace::QuietScope quiet;
    try {
        logger().log(level, spdlog::string_view_t(text.data(), text.size()));
    } catch (...) {  // no memory for the logger, which knows the level
        if (level == always)
            write_in_pieces(text);
        else
            lost_lines.fetch_add(1, std::memory_order_relaxed);
    }
}

}  // namespace

void remember_stderr() noexcept {
    const trace::QuietScope quiet;
    remembered.open = ::fstat(STDERR_FILENO, &remembered.file) == 0;
    remembered.asked = true;
}

void set_level(config::LogLevel level) noexcept {
    const trace::QuietScope quiet;
    try {
        logger().set_level(level_of(level));
    } catch (...) {  // no memory for the logger: the level stays
    }
}

bool enabled(config::LogLevel level) noexcept {
    const trace::QuietScope quiet;
    try {
        return level != config::LogLevel::off && logger().should_log(level_of(level));
    } catch (...) {
        return false;
    }
}

void line(std::string_view text) noexcept {
    put(always, text);
}
void say(config::LogLevel level, std::string_view text) noexcept {
    if (level != config::LogLevel::off)
        put(level_of(level), text);
}

void once(std::atomic<bool>& said, std::string_view text) noexcept {
    if (!said.load(std::memory_order_relaxed) && !said.exchange(true, std::memory_order_relaxed))
        line(text);
}

std::uint64_t lost() noexcept {
    return lost_lines.load(std::memory_order_relaxed);
}

}  // namespace keepgraph::log
