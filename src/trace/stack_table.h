// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "trace/native_stack.h"
#include "trace/python_stack.h"

namespace keepgraph::trace {

/// Gives equal stacks one small number, so that each is written to the recording once.
///
/// Bounded: a program with endlessly many different stacks must not eat the host's memory. Thread safe by one lock that
/// is held for look-ups and copies only, never across a call into the loader, the driver or Python. A forked child of a
/// multi-threaded process may inherit it locked: a child starts a new table and leaks this one.
class StackTable {
  public:
    struct Interned {
        std::uint32_t id = 0;  ///< from 1; 0: not recorded, the limit is reached or memory is short
        bool is_new = false;   ///< true exactly once per id, for exactly one of concurrent callers
    };

    explicit StackTable(std::size_t limit = 65536);
    ~StackTable();
    StackTable(const StackTable&) = delete;
    StackTable& operator=(const StackTable&) = delete;

    /// Number of the stack made of both parts. Equal means equal frames, not only equal hashes. About 1 us.
    Interned intern(const NativeStack& native, const PythonStack& python) noexcept;

    /// Copies stack `id` out; false for 0 and for numbers never given.
    bool find(std::uint32_t id, NativeStack& native, PythonStack& python) const noexcept;

    /// How many different stacks are held, and how many calls of intern found the table full.
    std::size_t size() const noexcept;
    std::size_t refused() const noexcept;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace keepgraph::trace
