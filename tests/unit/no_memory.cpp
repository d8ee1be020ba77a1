// SPDX-License-Identifier: Apache-2.0
// A source file of its own: where the compiler sees both new and delete inside, it warns of free() for a new.
#include "no_memory.h"

#include <cstdlib>
#include <new>

void* operator new(std::size_t size) {
    void* const memory = keepgraph::unit_tests::no_memory ? nullptr : std::malloc(size == 0 ? 1 : size);
    return memory != nullptr ? memory : throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
