// SPDX-License-Identifier: Apache-2.0
#include "log/no_wait.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace keepgraph::log {
namespace {

// A description of our own of the same pipe or terminal, which is non-blocking while the program's stays as it is.
// False: it cannot be had (another user's, no descriptor left, no /proc), and errno says nothing.
//
// Not kept: it would be a writer of the pipe that the program does not know of, whose reader waits for the last one.
bool write_to_own(const struct stat& file, int how, const char* text, std::size_t size, ssize_t& wrote) noexcept {
    const int own = ::open("/proc/thread-self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (how & O_DIRECT));
    if (own < 0)
        return false;
    struct stat opened {};
    wrote = -1;
    int reason = EBADF;  // the program put something else at 2 meanwhile
    if (::fstat(own, &opened) == 0 && same_file(opened, file)) {
        wrote = ::write(own, text, size);
        reason = errno;
    }
    ::close(own);
    errno = reason;
    return true;
}

// Linux 6.4 and newer can for pipes that have no name.
bool write_now(const char* text, std::size_t size, ssize_t& wrote) noexcept {
    iovec all{const_cast<char*>(text), size};
    wrote = ::pwritev2(STDERR_FILENO, &all, 1, -1, RWF_NOWAIT);
    return wrote >= 0 || errno == EAGAIN || errno == EINTR || errno == EPIPE;
}

}  // namespace

bool same_file(const struct stat& a, const struct stat& b) noexcept {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino && (a.st_mode & S_IFMT) == (b.st_mode & S_IFMT) &&
           a.st_rdev == b.st_rdev;
}

/// Rejected: O_NONBLOCK on descriptor 2 for as long as the write takes. The flag is the description's, which the
/// program shares with its parent and its children: their own writes would fail.
///
/// Where nothing else can be done poll() has to say that there is room. What remains then: another writer may take the
/// room before us, and a terminal may have less of it than a piece is long. Then we wait for the reader after all.
ssize_t write_without_waiting(const struct stat& file, const char* text, std::size_t size) noexcept {
    if (S_ISSOCK(file.st_mode))
        return ::send(STDERR_FILENO, text, size, MSG_DONTWAIT);
    const bool is_pipe = S_ISFIFO(file.st_mode);
    if (!is_pipe && !(S_ISCHR(file.st_mode) && ::isatty(STDERR_FILENO) == 1))
        return ::write(STDERR_FILENO, text, size);
    ssize_t wrote = -1;
    if (is_pipe && write_now(text, size, wrote))
        return wrote;
    const int how = ::fcntl(STDERR_FILENO, F_GETFL);
    if (how < 0 || (how & O_NONBLOCK) != 0 || (how & O_ACCMODE) == O_RDONLY)
        return ::write(STDERR_FILENO, text, size);
    if (write_to_own(file, how, text, size, wrote))
        return wrote;
    if (has_room(0))
        return ::write(STDERR_FILENO, text, piece_of(text, size));
    errno = EAGAIN;
    return -1;
}

bool has_room(int timeout_ms) noexcept {
    pollfd room{STDERR_FILENO, POLLOUT, 0};
    return ::poll(&room, 1, timeout_ms) > 0;
}

std::size_t piece_of(const char* text, std::size_t size) noexcept {
    if (size <= PIPE_BUF)
        return size;
    const void* const last = ::memrchr(text, '\n', PIPE_BUF);
    return last != nullptr ? static_cast<std::size_t>(static_cast<const char*>(last) - text) + 1 : PIPE_BUF;
}

}  // namespace keepgraph::log
