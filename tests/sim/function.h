// SPDX-License-Identifier: Apache-2.0
// What every exported function does first: it is counted, it may be told to fail, and it may come too early.
#pragma once

#include <atomic>

#include "driver/cuda_types.h"

namespace keepgraph::sim {

enum class Needs { nothing, init };

class Function {
  public:
    explicit constexpr Function(const char* name) : name(name) {}
    CUresult enter(Needs needs);

    const char* const name;
    std::atomic<unsigned long long> calls{0};
    Function* next = nullptr;  // list of all functions that were ever called
};

/// Tells a _ptsz or _ptds twin from its base function: the default stream is the thread's own, and the base function,
/// which does the work, is not counted a second time.
class Twin {
  public:
    Twin();
    ~Twin();
    Twin(const Twin&) = delete;
};

bool is_hidden(const char* exported_name);  // KEEPGRAPH_SIM_HIDE

/// Registers the end of the driver, once: exit handlers that were registered later still have a working driver, those
/// registered earlier (static destructors among them) get CUDA_ERROR_DEINITIALIZED.
void deinitialise_at_exit();

extern std::atomic<bool> initialised;
extern std::atomic<bool> deinitialised;
extern std::atomic<bool> forked;  // the child of a fork can use nothing, as with the real driver

}  // namespace keepgraph::sim

#define SIM_ENTER_WITH(symbol, needs)                                            \
    static constinit ::keepgraph::sim::Function sim_function{#symbol};           \
    if (const CUresult early = sim_function.enter(needs); early != CUDA_SUCCESS) \
    return early

#define SIM_ENTER(symbol) SIM_ENTER_WITH(symbol, ::keepgraph::sim::Needs::init)
#define SIM_ENTER_EARLY(symbol) SIM_ENTER_WITH(symbol, ::keepgraph::sim::Needs::nothing)

#define SIM_EXPORT extern "C" __attribute__((visibility("default")))
