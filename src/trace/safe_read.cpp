// SPDX-License-Identifier: Apache-2.0
#include "trace/safe_read.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

namespace keepgraph::trace {

ReadResult read_memory(std::uintptr_t address, void* to, std::size_t size) noexcept {
    if (size == 0) {
        return ReadResult::ok;
    }
    if (address == 0 || address + size < address) {
        return ReadResult::bad_address;
    }
    iovec local{to, size};
    iovec remote{reinterpret_cast<void*>(address), size};
    // getpid() each time: a value kept in a static would name the parent after a fork.
    const ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (got == static_cast<ssize_t>(size)) {
        return ReadResult::ok;
    }
    return got < 0 && (errno == EPERM || errno == ENOSYS) ? ReadResult::not_permitted : ReadResult::bad_address;
}

}  // namespace keepgraph::trace
