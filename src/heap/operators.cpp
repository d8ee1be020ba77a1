// SPDX-License-Identifier: Apache-2.0
//
// operator new and delete of the shim and of the libstdc++ inside it. They are hidden: no other object of the process
// binds to them, and nothing that they gave is released elsewhere. Only the shim links this file; the command and the
// unit tests use the usual ones.
#include <new>

#include "heap/heap.h"

namespace {

constexpr std::size_t usual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

// Without the new_handler loop: no part of the shim sets a handler.
void* or_throw(void* pointer) {
    if (pointer == nullptr)
        throw std::bad_alloc();
    return pointer;
}

}  // namespace

using keepgraph::heap::allocate;
using keepgraph::heap::release;
using std::align_val_t;
using std::nothrow_t;
using std::size_t;

void* operator new(size_t bytes) {
    return or_throw(allocate(bytes, usual));
}
void* operator new[](size_t bytes) {
    return or_throw(allocate(bytes, usual));
}
void* operator new(size_t bytes, const nothrow_t&) noexcept {
    return allocate(bytes, usual);
}
void* operator new[](size_t bytes, const nothrow_t&) noexcept {
    return allocate(bytes, usual);
}
void* operator new(size_t bytes, align_val_t alignment) {
    return or_throw(allocate(bytes, static_cast<size_t>(alignment)));
}
void* operator new[](size_t bytes, align_val_t alignment) {
    return or_throw(allocate(bytes, static_cast<size_t>(alignment)));
}
void* operator new(size_t bytes, align_val_t alignment, const nothrow_t&) noexcept {
    return allocate(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes, align_val_t alignment, const nothrow_t&) noexcept {
    return allocate(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* pointer) noexcept {
    release(pointer);
}
void operator delete[](void* pointer) noexcept {
    release(pointer);
}
void operator delete(void* pointer, const nothrow_t&) noexcept {
    release(pointer);
}
void operator delete[](void* pointer, const nothrow_t&) noexcept {
    release(pointer);
}
void operator delete(void* pointer, size_t) noexcept {
    release(pointer);
}
void operator delete[](void* pointer, size_t) noexcept {
    release(pointer);
}
void operator delete(void* pointer, align_val_t) noexcept {
    release(pointer);
}
void operator delete[](void* pointer, align_val_t) noexcept {
    release(pointer);
}
void operator delete(void* pointer, align_val_t, const nothrow_t&) noexcept {
    release(pointer);
}
void operator delete[](void* pointer, align_val_t, const nothrow_t&) noexcept {
    release(pointer);
}
void operator delete(void* pointer, size_t, align_val_t) noexcept {
    release(pointer);
}
void operator delete[](void* pointer, size_t, align_val_t) noexcept {
    release(pointer);
}
