// SPDX-License-Identifier: Apache-2.0
//
// A driver in this process, for the parts of the core that ask one: getters over graphs, kernels and memory that the
// test sets up field by field. What a real driver answers is the business of tests/sim and tests/conformance; this one
// can also say what no real driver says.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "driver/api.h"

namespace keepgraph::unit_tests {

struct FakeFunction {
    struct Parameter {
        std::size_t offset;
        std::size_t size;
    };
    std::string name;
    std::vector<Parameter> parameters;
    CUresult past_the_last = CUDA_ERROR_INVALID_VALUE;

    CUfunction function() { return reinterpret_cast<CUfunction>(this); }
    CUkernel kernel() { return reinterpret_cast<CUkernel>(this); }
};

struct FakeGraph;

struct FakeNode {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    CUresult parameters_result = CUDA_SUCCESS;  ///< of the getter of its parameters
    CUDA_KERNEL_NODE_PARAMS kernel{};
    CUDA_MEMCPY3D copy{};
    CUDA_MEMSET_NODE_PARAMS set{};
    CUDA_HOST_NODE_PARAMS host{};
    CUevent event = nullptr;
    CUDA_MEM_ALLOC_NODE_PARAMS allocated{};
    CUdeviceptr freed = 0;
    FakeGraph* child = nullptr;
    std::vector<FakeNode*> dependencies;  ///< in the order in which the edges were added; empty: not answered

    std::vector<std::vector<std::byte>> arguments;  ///< where kernel.kernelParams points to
    std::vector<void*> argument_pointers;

    CUgraphNode handle() { return reinterpret_cast<CUgraphNode>(this); }
};

struct FakeEdge {
    FakeNode* from;
    FakeNode* to;
    CUgraphEdgeData data{};
};

template <class T>
std::vector<std::byte> bytes_of(const T& value) {
    std::vector<std::byte> bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

struct FakeGraph {
    std::deque<FakeNode> nodes;  // a node is its own handle, so it must not move
    std::vector<FakeEdge> edges;
    CUresult nodes_result = CUDA_SUCCESS;

    CUgraph handle() { return reinterpret_cast<CUgraph>(this); }

    FakeNode& add(CUgraphNodeType type) {
        nodes.emplace_back().type = type;
        return nodes.back();
    }

    template <class... Arguments>
    FakeNode& add_kernel(FakeFunction& function, const Arguments&... arguments) {
        FakeNode& node = add(CU_GRAPH_NODE_TYPE_KERNEL);
        node.kernel.func = function.function();
        (node.arguments.push_back(bytes_of(arguments)), ...);
        for (auto& argument : node.arguments)
            node.argument_pointers.push_back(argument.data());
        node.kernel.kernelParams = node.argument_pointers.data();
        return node;
    }

    FakeNode& add_set(std::uintptr_t to, std::size_t bytes = 1) {
        FakeNode& node = add(CU_GRAPH_NODE_TYPE_MEMSET);
        node.set = {to, 0, 0, 1, bytes, 1};
        return node;
    }

    /// From nowhere to nowhere.
    FakeNode& add_copy(std::size_t bytes = 1) {
        FakeNode& node = add(CU_GRAPH_NODE_TYPE_MEMCPY);
        node.copy.WidthInBytes = bytes;
        node.copy.Height = node.copy.Depth = 1;
        return node;
    }

    FakeNode& add_child(FakeGraph& child) {
        FakeNode& node = add(CU_GRAPH_NODE_TYPE_GRAPH);
        node.child = &child;
        return node;
    }
};

struct FakeMemory {
    unsigned long long id;
    std::uintptr_t base;
    std::size_t size;
    unsigned type = CU_MEMORYTYPE_DEVICE;
    unsigned managed = 0;
    int device = 0;
};

struct FakeDriver {
    std::vector<FakeMemory> memory;
    unsigned ids_asked = 0;           ///< questions for BUFFER_ID
    unsigned failing_attributes = 0;  ///< that many of the next questions for an attribute fail with 999
    unsigned functions_asked = 0;     ///< questions for a function's name
    std::pair<CUdeviceptr, std::size_t> range_of_all{};  ///< not empty: what every address has for its range
    bool range_known = true;                             ///< RANGE_START_ADDR and RANGE_SIZE are answered
    bool ports_in_old_form = true;                       ///< cuGraphGetEdges answers, although an edge may have ports

    /// The one that this process was given; load() takes no second.
    static FakeDriver& get();
};

/// Every test starts with a driver that knows of nothing.
class OnFakeDriver : public testing::Test {
  protected:
    OnFakeDriver() { driver = FakeDriver{}; }
    FakeDriver& driver = FakeDriver::get();
};

/// The driver lacks this function while this lives. The table is published once per process and read by reference, so
/// it is the table itself that is changed; the object is not a const one.
template <class Function>
class Lacking {
  public:
    explicit Lacking(Function driver::Api::*which)
        : place_(const_cast<driver::Api&>(driver::api()).*which), saved_(std::exchange(place_, nullptr)) {}
    ~Lacking() { place_ = saved_; }
    Lacking(const Lacking&) = delete;
    Lacking& operator=(const Lacking&) = delete;

  private:
    Function& place_;
    Function saved_;
};

}  // namespace keepgraph::unit_tests
