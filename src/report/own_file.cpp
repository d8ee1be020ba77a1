// SPDX-License-Identifier: Apache-2.0
#include "report/own_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

namespace keepgraph::report {
namespace {

/// Above what programs use by dup2, and below FD_SETSIZE and the usual soft limit of 1024. With a lower limit: the
/// upper half. The descriptor stays where it is when even that fails.
int moved_up(int fd) noexcept {
    constexpr int high = 400;
    rlimit limit{};
    const bool known = ::getrlimit(RLIMIT_NOFILE, &limit) == 0;
    for (const int from : {high, known && limit.rlim_cur <= high ? static_cast<int>(limit.rlim_cur / 2) : high}) {
        if (fd >= from)
            break;
        const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, from);
        if (moved < 0)
            continue;
        ::close(fd);
        return moved;
    }
    return fd;
}

bool look(int fd, struct stat& at) noexcept {
    return fd >= 0 && ::fstat(fd, &at) == 0;
}

}  // namespace

OwnFile::OwnFile(int folder, const char* name, int flags, mode_t mode, int& error) noexcept {
    int opened = -1;
    do {
        opened = ::openat(folder, name, flags | O_CLOEXEC | O_NOFOLLOW, mode);
    } while (opened < 0 && errno == EINTR);
    struct stat at;
    if (opened < 0 || !look(opened, at)) {
        error = errno;
        if (opened >= 0)
            ::close(opened);
        return;
    }
    identity_ = {at.st_dev, at.st_ino};
    fd_ = moved_up(opened);
}

OwnFile& OwnFile::operator=(OwnFile&& from) noexcept {
    if (this != &from) {
        close();
        fd_ = from.fd_;
        identity_ = from.identity_;
        cut_to_ = from.cut_to_;
        from.fd_ = -1;
    }
    return *this;
}

int OwnFile::reopen(int folder, const char* name, int flags) noexcept {
    int error = 0;
    fd_ = -1;  // forgotten first: the number may well be the one that the file now gets
    // Non-blocking: a pipe that was put in the file's place must not make the program wait for its reader.
    OwnFile again(folder, name, flags | O_NONBLOCK, 0, error);
    if (error != 0)
        return error;
    if (again.identity_ != identity_)
        return ESTALE;
    again.cut_to_ = cut_to_;
    *this = std::move(again);
    return 0;
}

bool OwnFile::ours(off_t& size) const noexcept {
    struct stat at;
    if (!look(fd_, at) || Identity{at.st_dev, at.st_ino} != identity_)
        return false;
    size = at.st_size;
    return true;
}

bool OwnFile::ours() const noexcept {
    off_t ignored;
    return ours(ignored);
}

int OwnFile::append(std::string_view text, log::HeldSignals& held) noexcept {
    off_t end = 0;
    if (!ours(end))
        return EBADF;
    if (cut_to_ >= 0 && cut_to_ < end) {
        if (::ftruncate(fd_, cut_to_) != 0)
            return errno;
        end = cut_to_;
    }
    cut_to_ = -1;
    for (std::size_t done = 0; done < text.size();) {
        const auto wrote = ::write(fd_, text.data() + done, text.size() - done);
        if (wrote > 0) {
            done += static_cast<std::size_t>(wrote);
            if (done < text.size() && !ours()) {
                cut_to_ = end;
                return EBADF;
            }
            continue;
        }
        const int reason = wrote == 0 ? EIO : errno;
        if (reason == EINTR)
            continue;
        held.write_failed(reason);
        if (done > 0 && (!ours() || ::ftruncate(fd_, end) != 0))
            cut_to_ = end;
        return reason;
    }
    return 0;
}

int OwnFile::close() noexcept {
    const int closing = ours() ? fd_ : -1;
    fd_ = -1;
    return closing >= 0 && ::close(closing) != 0 ? errno : 0;
}

}  // namespace keepgraph::report
