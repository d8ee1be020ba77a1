// SPDX-License-Identifier: Apache-2.0
#include "closed.h"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "address_space.h"

namespace keepgraph::sim {
namespace {

struct Closed {
    CUdeviceptr end;
    CUresult copy_gets;
};

/// By start; they do not overlap.
std::map<CUdeviceptr, Closed>& closed() {
    static auto* table = new std::map<CUdeviceptr, Closed>;
    return *table;
}

std::shared_mutex& running() {
    static auto* instance = new std::shared_mutex;
    return *instance;
}

CUdeviceptr page_end(CUdeviceptr end) {
    static const auto page = static_cast<CUdeviceptr>(sysconf(_SC_PAGESIZE));
    return (end + page - 1) / page * page;
}

/// The first closed range that ends after `address`.
std::map<CUdeviceptr, Closed>::iterator first_after(CUdeviceptr address) {
    auto found = closed().upper_bound(address);
    if (found != closed().begin() && std::prev(found)->second.end > address)
        --found;
    return found;
}

/// Whether there was anything.
bool forget(CUdeviceptr start, CUdeviceptr end) {
    bool any = false;
    for (auto range = first_after(start); range != closed().end() && range->first < end;) {
        const auto [range_start, was] = *range;
        range = closed().erase(range);
        if (range_start < start)
            closed()[range_start] = {start, was.copy_gets};
        if (was.end > end)
            closed()[end] = was;
        any = true;
    }
    return any;
}

/// Not by following it: that is what the program's own handlers of signals would see.
bool is_readable(CUdeviceptr address) {
    char byte;
    const iovec local = {&byte, 1}, remote = {reinterpret_cast<void*>(address), 1};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1;
}

}  // namespace

void close_addresses(CUdeviceptr start, size_t size, CUresult copy_gets) {
    const CUdeviceptr end = page_end(start + size);
    const std::lock_guard alone(running());
    forget(start, end);
    closed()[start] = {end, copy_gets};
    mmap(reinterpret_cast<void*>(start), end - start, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

void open_addresses(CUdeviceptr start, size_t size) {
    const CUdeviceptr end = page_end(start + size);
    const std::lock_guard alone(running());
    if (forget(start, end))
        mprotect(reinterpret_cast<void*>(start), end - start, PROT_READ | PROT_WRITE);
}

Touching::Touching() : asking_(std::in_place), held_(running()) {}

CUresult Touching::by_copy(CUdeviceptr address, size_t size) const {
    if (size == 0)
        return CUDA_SUCCESS;
    for (auto range = first_after(address); range != closed().end() && range->first < address + size; ++range) {
        if (!is_readable(std::max(address, range->first)))
            return range->second.copy_gets;
    }
    return CUDA_SUCCESS;
}

CUresult Touching::by_write(CUdeviceptr address, size_t size) const {
    return by_copy(address, size) == CUDA_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

CUresult Touching::by_kernel(CUdeviceptr address, size_t size) const {
    return size == 0 || is_memory(address, size) ? by_write(address, size) : CUDA_ERROR_ILLEGAL_ADDRESS;
}

}  // namespace keepgraph::sim
