// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <string_view>
#include <utility>

#include "log/held_signals.h"

namespace keepgraph::report {

/// Which file it is, whatever its name or descriptor.
struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const Identity&) const = default;
};

/// A descriptor inside a program that may close it at any time and be given its number for a file of its own (daemons
/// close "all" descriptors; shells and servers dup2 onto fixed numbers). So the file behind the number is looked at
/// before each use, close() included.
///
/// Limit: between the look and the use another thread could still exchange it. The kernel has no call that does both.
/// Rejected: a shared mapping instead of a descriptor, where a full disk is a SIGBUS in the host.
class OwnFile {
  public:
    OwnFile() noexcept = default;
    /// openat() and a move to a high number, so that the program gets the numbers that it gets without us. Empty, with
    /// the errno in `error`, when it fails. `folder` may be AT_FDCWD with an absolute name.
    OwnFile(int folder, const char* name, int flags, mode_t mode, int& error) noexcept;
    ~OwnFile() { close(); }
    OwnFile(OwnFile&& from) noexcept { *this = std::move(from); }
    OwnFile& operator=(OwnFile&& from) noexcept;
    OwnFile(const OwnFile&) = delete;
    OwnFile& operator=(const OwnFile&) = delete;

    /// For a descriptor that is not ours() any more: opens the same file once more by its name. The number is left to
    /// the program. 0, or the errno; ESTALE when another file has that name now.
    int reopen(int folder, const char* name, int flags) noexcept;

    /// Is there a descriptor, and is it still this file's?
    bool ours() const noexcept;
    /// The same, and its size.
    bool ours(off_t& size) const noexcept;
    int fd() const noexcept { return fd_; }
    const Identity& identity() const noexcept { return identity_; }

    /// Writes everything behind the last byte or nothing: what got there of a write that failed is cut off again.
    /// 0, or the errno; EBADF when the descriptor is not ours any more.
    int append(std::string_view text, log::HeldSignals& held) noexcept;

    /// 0, or the errno of close(), where network file systems report a full disk.
    int close() noexcept;

  private:
    int fd_ = -1;
    Identity identity_;
    off_t cut_to_ = -1;  // a part that could not be cut off yet
};

}  // namespace keepgraph::report
