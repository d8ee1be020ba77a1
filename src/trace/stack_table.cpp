// SPDX-License-Identifier: Apache-2.0
#include "trace/stack_table.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace keepgraph::trace {
namespace {

std::size_t mix(std::size_t seed, std::size_t value) {
    return seed ^ (value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2));
}

struct FrameHash {
    std::size_t operator()(const PythonFrame& frame) const {
        std::size_t seed = std::hash<std::string_view>{}(frame.file);
        seed = mix(seed, frame.line);
        return mix(seed, std::hash<std::string_view>{}(frame.function));
    }
};

std::size_t hash_of(const NativeStack& native, const PythonStack& python) {
    std::size_t seed = native.count;
    for (std::uint32_t i = 0; i < native.count; ++i) {
        seed = mix(seed, reinterpret_cast<std::uintptr_t>(native.frames[i]));
    }
    for (const PythonFrame& frame : python.frames) {
        seed = mix(seed, FrameHash{}(frame));
    }
    return mix(seed, std::hash<std::string_view>{}(python.unavailable));
}

/// One stack as it is kept. Python frames repeat from stack to stack (the same script, the same training loop), so they
/// live once in a pool; set nodes never move, which makes their addresses good references.
struct Stored {
    std::vector<void*> native;
    std::vector<const PythonFrame*> python;
    std::string unavailable;

    bool equals(const NativeStack& other, const PythonStack& other_python) const {
        return native.size() == other.count && std::equal(native.begin(), native.end(), other.frames) &&
               python.size() == other_python.frames.size() && unavailable == other_python.unavailable &&
               std::equal(python.begin(), python.end(), other_python.frames.begin(),
                          [](const PythonFrame* mine, const PythonFrame& theirs) { return *mine == theirs; });
    }
};

}  // namespace

struct StackTable::State {
    explicit State(std::size_t most) : limit(most) {}

    const std::size_t limit;
    mutable std::mutex mutex;
    std::vector<Stored> stacks;  ///< stack of id n is element n - 1
    std::unordered_multimap<std::size_t, std::uint32_t> ids_by_hash;
    std::unordered_set<PythonFrame, FrameHash> frame_pool;
    std::size_t refused = 0;
};

StackTable::StackTable(std::size_t limit) : state_(std::make_unique<State>(std::min<std::size_t>(limit, UINT32_MAX))) {}
StackTable::~StackTable() = default;

StackTable::Interned StackTable::intern(const NativeStack& native, const PythonStack& python) noexcept {
    const std::size_t hash = hash_of(native, python);
    State& state = *state_;
    const std::lock_guard lock(state.mutex);
    const auto [begin, end] = state.ids_by_hash.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
        if (state.stacks[it->second - 1].equals(native, python)) {
            return {it->second, false};
        }
    }
    if (state.stacks.size() >= state.limit) {
        ++state.refused;
        return {};
    }
    try {
        Stored stored;
        stored.native.assign(native.frames, native.frames + native.count);
        stored.python.reserve(python.frames.size());
        for (const PythonFrame& frame : python.frames) {
            stored.python.push_back(&*state.frame_pool.insert(frame).first);
        }
        stored.unavailable = python.unavailable;
        const auto id = static_cast<std::uint32_t>(state.stacks.size() + 1);
        const auto entry = state.ids_by_hash.emplace(hash, id);
        try {
            state.stacks.push_back(std::move(stored));
        } catch (...) {
            state.ids_by_hash.erase(entry);  // no number without a stack behind it
            throw;
        }
        return {id, true};
    } catch (...) {
        ++state.refused;
        return {};
    }
}

bool StackTable::find(std::uint32_t id, NativeStack& native, PythonStack& python) const noexcept {
    const State& state = *state_;
    const std::lock_guard lock(state.mutex);
    if (id == 0 || id > state.stacks.size()) {
        return false;
    }
    try {
        const Stored& stored = state.stacks[id - 1];
        PythonStack copy;
        copy.frames.reserve(stored.python.size());
        for (const PythonFrame* frame : stored.python) {
            copy.frames.push_back(*frame);
        }
        copy.unavailable = stored.unavailable;
        python = std::move(copy);
        native.count = static_cast<std::uint32_t>(stored.native.size());
        std::copy(stored.native.begin(), stored.native.end(), native.frames);
        return true;
    } catch (...) {
        return false;
    }
}

std::size_t StackTable::size() const noexcept {
    const std::lock_guard lock(state_->mutex);
    return state_->stacks.size();
}

std::size_t StackTable::refused() const noexcept {
    const std::lock_guard lock(state_->mutex);
    return state_->refused;
}

}  // namespace keepgraph::trace
