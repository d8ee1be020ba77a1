// SPDX-License-Identifier: Apache-2.0
#include "liveness/scan.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "liveness/extent.h"
#include "liveness/partial_arrays.h"
#include "memory/ranges.h"

namespace keepgraph::liveness {
namespace {

graph::Function::Slot& slot_of(const graph::Function& function, const Reference& reference) {
    return function.slots[(function.parameters[reference.slot.parameter].offset + reference.slot.offset) / 4];
}

using config::Grade;
using graph::Body;

class Scanner {
  public:
    Scanner(const graph::Snapshot& snapshot, memory::Seen& seen, const memory::Dead* dead)
        : snapshot_(snapshot), seen_(seen), cache_(dead) {
        has_own_ = snapshot.has_memory_nodes();
        if (!has_own_)
            return;
        for (const Body& body : snapshot.bodies())
            for (const graph::Memory& memory : body.memories)
                if (memory.size > 0) {
                    own_.add(memory.address, memory.address + memory.size);
                    seen_.add(memory.address, memory.address + memory.size);  // other graphs may be given it
                }
    }

    void body(std::uint32_t index) {
        body_ = index;
        const Body& body = snapshot_.bodies()[index];
        for (std::uint32_t node = 0; node < body.nodes.size(); ++node)
            this->node(body, node);
    }

    void node_at(const graph::Place& place) {
        body_ = place.body;
        node(snapshot_.bodies()[body_], place.node);
    }

    Scan finish() {
        for (const memory::Allocation& allocation : result_.allocations)
            seen_.add(allocation.base, allocation.end());
        return std::move(result_);
    }

  private:
    void node(const Body& body, std::uint32_t index) {
        const graph::Node& node = body.nodes[index];
        node_ = index;
        if (!node.readable) {
            ++result_.opaque;
            return;
        }
        switch (node.type) {
            case CU_GRAPH_NODE_TYPE_KERNEL:
                kernel(body, body.kernels[node.detail]);
                break;
            case CU_GRAPH_NODE_TYPE_MEMCPY: {
                const CUDA_MEMCPY3D& copy = body.copies[node.detail];
                touch(Slot::Kind::source, extent_of(copy, false));
                touch(Slot::Kind::destination, extent_of(copy, true));
                break;
            }
            case CU_GRAPH_NODE_TYPE_MEMSET:
                touch(Slot::Kind::destination, extent_of(body.sets[node.detail]));
                break;
            default:
                break;
        }
        if (unanswered_) {
            unanswered_ = false;
            ++result_.opaque;
            result_.unanswered.push_back({body_, node_});
        }
    }

    void kernel(const Body& body, const graph::Kernel& kernel) {
        if (!kernel.arguments_known)
            return;
        const graph::Function& function = *kernel.function;
        const std::byte* const packed = body.arguments_of(kernel).data();
        const bool partial = partial_arrays(function);
        const std::size_t first = result_.references.size();
        std::uint32_t of_parameter = UINT32_MAX;
        bool leading = true;  // only addresses so far in this parameter
        for (const graph::Function::Word& place : function.words) {
            std::uintptr_t word = 0;
            std::memcpy(&word, packed + place.packed, sizeof word);
            leading = leading || place.parameter != of_parameter;
            of_parameter = place.parameter;
            const Slot slot{Slot::Kind::parameter, place.parameter, place.offset};
            const Grade grade = partial && place.in_struct && !leading ? Grade::possible : Grade::likely;
            const Meaning meaning = refer(slot, word, grade);
            if (meaning == Meaning::address)
                continue;
            leading = false;
            if (meaning == Meaning::unknown)
                continue;
            // Memory that died before it was looked at is no plain number, although nothing lives there now.
            auto& held_number = function.slots[place.packed / 4].held_number;
            if (word != 0 && !held_number.load(std::memory_order_relaxed) && !seen_.contains(word))
                held_number.store(true, std::memory_order_relaxed);
        }
        find_end_pointers(function, first);
    }

    static bool partial_arrays(const graph::Function& function) {
        auto known = function.partial_arrays.load(std::memory_order_relaxed);
        if (known == graph::Function::Note::not_asked) {
            known = passes_partial_arrays(function.mangled) ? graph::Function::Note::yes : graph::Function::Note::no;
            function.partial_arrays.store(known, std::memory_order_relaxed);
        }
        return known == graph::Function::Note::yes;
    }

    bool own(std::uintptr_t address) const { return has_own_ && own_.contains(address); }

    // One reference per allocation, since a buffer may lie in many mappings. It ends where the driver knows nothing:
    // asking row after row of pageable memory would take milliseconds.
    void touch(Slot::Kind kind, const Extent& extent) {
        std::uintptr_t address = extent.next(0);
        while (address != 0 && refer({kind, 0, 0}, address, Grade::certain) == Meaning::address) {
            const std::uintptr_t end = result_.allocations[result_.references.back().input].end();
            address = end > address ? extent.next(end) : 0;
        }
    }

    enum class Meaning : unsigned char { address, number, unknown };

    Meaning refer(Slot slot, std::uintptr_t address, Grade grade) {
        if (own(address))  // before the cache is asked: its numbers are those of the result
            return Meaning::unknown;
        const auto index = cache_.find(address);
        if (index == memory::ScanCache::none)
            return Meaning::number;
        if (index == memory::ScanCache::unknown) {
            unanswered_ = true;
            return Meaning::unknown;
        }
        if (index == result_.allocations.size())
            result_.allocations.push_back(cache_.at(index));
        if (cache_.is_doubtful(index))
            grade = Grade::possible;
        result_.references.push_back({body_, node_, slot, grade, false, index, address});
        return Meaning::address;
    }

    // [begin, end) pairs are common, and `end` is often the first byte of an allocation that has nothing to do with it.
    // Only a parameter that stands behind the one that lies in the preceding allocation can be such an end: small
    // allocations often touch, and a rule that looked both ways would doubt every input allocated after an output. Nor
    // is it one when the two have different types, as an input (`float const*`) and an output (`float*`) have.
    // A slot that holds ends holds nothing else: one address elsewhere, in any graph, and it is an ordinary pointer.
    void find_end_pointers(const graph::Function& function, std::size_t first) {
        auto& references = result_.references;
        for (std::size_t i = first; i < references.size(); ++i) {
            bool inside = false;  // of the memory of a parameter before it, as an end of a part of it is
            for (std::size_t before = first; before < i; ++before) {
                const memory::Allocation& other = result_.allocations[references[before].input];
                inside = inside || references[before].input == references[i].input;
                references[i].maybe_end =
                    references[i].maybe_end ||
                    (other.end() == references[i].address &&
                     function.may_have_one_type(references[before].slot.parameter, references[i].slot.parameter));
            }
            if (inside || references[i].maybe_end)
                continue;
            auto& stood_alone = slot_of(function, references[i]).stood_alone;
            if (!stood_alone.load(std::memory_order_relaxed)) {
                stood_alone.store(true, std::memory_order_relaxed);
                result_.raised = true;
            }
        }
    }

    const graph::Snapshot& snapshot_;
    memory::Seen& seen_;
    memory::ScanCache cache_;
    memory::Ranges own_;  // memory nodes of the graph
    bool has_own_ = false;
    Scan result_;
    std::uint32_t body_ = 0;
    std::uint32_t node_ = 0;
    bool unanswered_ = false;  // of the node that is being looked at
};

}  // namespace

std::string to_string(const Slot& slot) {
    switch (slot.kind) {
        case Slot::Kind::source:
            return "src";
        case Slot::Kind::destination:
            return "dst";
        case Slot::Kind::parameter:
            break;
    }
    return "parameter " + std::to_string(slot.parameter) + " +" + std::to_string(slot.offset);
}

Scan scan(const graph::Snapshot& snapshot, memory::Seen& seen, const memory::Dead* dead) {
    Scanner scanner(snapshot, seen, dead);
    for (std::uint32_t body = 0; body < snapshot.bodies().size(); ++body)
        scanner.body(body);
    return scanner.finish();
}

Scan scan_node(const graph::Snapshot& snapshot, const graph::Place& place, memory::Seen& seen,
               const memory::Dead* dead) {
    Scanner scanner(snapshot, seen, dead);
    scanner.node_at(place);
    if (snapshot.node(place).type == CU_GRAPH_NODE_TYPE_GRAPH) {
        const std::vector<bool> below = snapshot.bodies_below(place);
        for (std::uint32_t i = 1; i < below.size(); ++i)
            if (below[i])
                scanner.body(i);
    }
    return scanner.finish();
}

config::Grade grade_now(const graph::Snapshot& snapshot, const Reference& reference) noexcept {
    if (reference.slot.kind != Slot::Kind::parameter || reference.grade == Grade::possible)
        return reference.grade;
    const Body& body = snapshot.bodies()[reference.body];
    const graph::Function& function = *body.kernels[body.nodes[reference.node].detail].function;
    const graph::Function::Slot& slot = slot_of(function, reference);
    const bool doubtful = slot.held_number.load(std::memory_order_relaxed) ||
                          (reference.maybe_end && !slot.stood_alone.load(std::memory_order_relaxed));
    return doubtful ? Grade::possible : reference.grade;
}

}  // namespace keepgraph::liveness
