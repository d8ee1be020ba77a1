// SPDX-License-Identifier: Apache-2.0
// Handles. A handle is the address of an object whose storage is never given back, and the storage of a destroyed
// object is the next one handed out: programs that keep a stale handle meet the same re-use as with the real driver,
// and a stale handle can be recognised instead of being followed into freed memory.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <type_traits>
#include <vector>

#include "driver/cuda_types.h"

namespace keepgraph::sim {

enum class Kind : uint32_t {
    dead,
    context,
    stream,
    event,
    module,
    function,
    library,
    kernel,
    pool,
    graph,
    node,
    exec,
    user_object,
};

template <Kind kind_of>
struct Object {
    static constexpr Kind kind_of_type = kind_of;
    Kind kind = Kind::dead;
};

/// Takes and gives under the lock of the driver (Locked).
template <class T>
class Pool {
  public:
    T* take() {
        T* object;
        if (unused_.empty()) {
            object = &all_.emplace_back();
        } else {
            object = unused_.back();
            unused_.pop_back();
        }
        object->kind = T::kind_of_type;
        return object;
    }

    void give(T* object) {
        *object = T{};
        unused_.push_back(object);
    }

    template <class Use>
    void for_each(Use use) {
        for (T& object : all_) {
            if (object.kind == T::kind_of_type)
                use(&object);
        }
    }

  private:
    std::deque<T> all_;
    std::vector<T*> unused_;
};

/// One pool per type, for the life of the process: destructors of the program may still call us at exit.
template <class T>
Pool<T>& pool() {
    static auto* instance = new Pool<T>;
    return *instance;
}

/// The object behind a handle, or null for a null or stale one.
template <class T, class Handle>
T* find(Handle handle) {
    auto* object = reinterpret_cast<T*>(handle);
    return object != nullptr && object->kind == T::kind_of_type ? object : nullptr;
}

template <class Handle, class T>
Handle handle_of(T* object) {
    return reinterpret_cast<Handle>(const_cast<std::remove_const_t<T>*>(object));
}

/// The one lock over all tables and objects. Work (kernels, copies, host functions) runs outside of it.
class Locked {
  public:
    Locked() : guard_(mutex()) {}

  private:
    static std::mutex& mutex();
    std::lock_guard<std::mutex> guard_;
};

}  // namespace keepgraph::sim
