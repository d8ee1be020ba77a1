// SPDX-License-Identifier: Apache-2.0
// A source file of its own: where the compiler sees both new and delete inside, it warns of free() for a new.
#include "no_memory.h"

#include <cstdlib>
#include <new>

namespace {

bool refused() {
    return keepgraph::unit_tests::failing_requests.next_fails() || keepgraph::unit_tests::no_memory;
}

}  // namespace

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return refused() ? nullptr : std::malloc(size == 0 ? 1 : size);
}
void* operator new(std::size_t size) {
    void* const memory = operator new(size, std::nothrow);
    return memory != nullptr ? memory : throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    const auto unit = static_cast<std::size_t>(alignment);
    void* const memory = refused() ? nullptr : std::aligned_alloc(unit, (size + unit - 1) / unit * unit);
    return memory != nullptr ? memory : throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
