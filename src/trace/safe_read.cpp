// SPDX-License-Identifier: Apache-2.0
#include "trace/safe_read.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace keepgraph::trace {
namespace {

ReadResult reason_of(ssize_t got) {
    return got < 0 && (errno == EPERM || errno == ENOSYS) ? ReadResult::not_permitted : ReadResult::bad_address;
}

bool possible(const ReadPiece& piece) {
    return piece.size == 0 || (piece.address != 0 && piece.address + piece.size >= piece.address);
}

}  // namespace

ReadResult read_memory(std::uintptr_t address, void* to, std::size_t size) noexcept {
    const ReadPiece piece{address, to, size};
    ReadResult result = ReadResult::ok;
    read_pieces({&piece, 1}, result);
    return result;
}

std::size_t read_pieces(std::span<const ReadPiece> pieces, ReadResult& result) noexcept {
    constexpr std::size_t most = 512;  // the kernel takes 1024 (IOV_MAX); two arrays of that size are too much stack
    iovec local[most];
    iovec remote[most];
    result = ReadResult::ok;
    std::size_t done = 0;
    while (done < pieces.size()) {
        std::size_t count = 0;
        std::size_t wanted = 0;
        while (count < std::min(most, pieces.size() - done) && possible(pieces[done + count])) {
            const ReadPiece& piece = pieces[done + count];
            local[count] = {piece.to, piece.size};
            remote[count] = {reinterpret_cast<void*>(piece.address), piece.size};
            wanted += piece.size;
            ++count;
        }
        ssize_t got = 0;
        if (wanted > 0) {
            // getpid() each time: a value kept in a static would name the parent after a fork.
            got = process_vm_readv(getpid(), local, count, remote, count, 0);
        }
        if (got == static_cast<ssize_t>(wanted) && count > 0) {
            done += count;
            continue;
        }
        if (count == 0) {
            result = ReadResult::bad_address;
            return done;
        }
        result = reason_of(got);
        for (std::size_t i = 0; got > 0 && i < count && static_cast<std::size_t>(got) >= pieces[done].size; ++i) {
            got -= static_cast<ssize_t>(pieces[done].size);
            ++done;
        }
        return done;
    }
    return done;
}

}  // namespace keepgraph::trace
