// SPDX-License-Identifier: Apache-2.0
// Counters, injected errors and hidden functions. Everything here can be set from outside by environment variables, so
// that an unmodified program can be made to fail, and from inside by keepgraph_sim_*.
#include "function.h"

#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "thread.h"

namespace keepgraph::sim {

std::atomic<bool> initialised{false};
std::atomic<bool> deinitialised{false};
std::atomic<bool> forked{false};

namespace {

struct Failure {
    std::string function;
    unsigned long long call;
    CUresult code;
};

std::atomic<Function*> called{nullptr};
std::atomic<bool> any_failure{false};
std::atomic<unsigned long long> calls_after_exit{0};
std::atomic<bool> counts_written{false};
std::mutex failures_mutex;

std::vector<Failure>& failures() {
    static auto* list = new std::vector<Failure>;
    return *list;
}

std::vector<std::string>& hidden() {
    static auto* list = new std::vector<std::string>;
    return *list;
}

void add_failure(std::string function, unsigned long long call, int code) {
    const std::lock_guard lock(failures_mutex);
    failures().push_back({std::move(function), call, static_cast<CUresult>(code)});
    any_failure = true;
}

template <class Use>
void split(std::string_view text, Use use) {
    while (!text.empty()) {
        const size_t comma = text.find(',');
        use(std::string(text.substr(0, comma)));
        text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    }
}

__attribute__((constructor)) void read_environment() {
    if (const char* text = std::getenv("KEEPGRAPH_SIM_FAIL")) {
        split(text, [](const std::string& item) {
            const size_t colon = item.find(':'), equals = item.find('=');
            if (colon == std::string::npos || equals == std::string::npos) {
                std::fprintf(stderr, "libcuda double: KEEPGRAPH_SIM_FAIL wants function:call=code, not '%s'\n",
                             item.c_str());
                std::abort();
            }
            add_failure(item.substr(0, colon), std::strtoull(item.c_str() + colon + 1, nullptr, 10),
                        std::atoi(item.c_str() + equals + 1));
        });
    }
    if (const char* text = std::getenv("KEEPGRAPH_SIM_HIDE")) {
        split(text, [](const std::string& item) { hidden().push_back(item); });
    }
    pthread_atfork(nullptr, nullptr, [] { forked = initialised.load(); });
}

__attribute__((destructor)) void write_counts() {
    const char* path = std::getenv("KEEPGRAPH_SIM_COUNTS");
    // A process that never used CUDA, or a fork's child, must not overwrite the file of the one that did.
    if (path == nullptr || !initialised || forked)
        return;
    std::FILE* file = std::fopen(path, "w");
    if (file == nullptr)
        return;
    for (Function* function = called; function != nullptr; function = function->next) {
        std::fprintf(file, "%s %llu\n", function->name, function->calls.load());
    }
    if (calls_after_exit != 0)
        std::fprintf(file, "calls_after_exit %llu\n", calls_after_exit.load());
    std::fclose(file);
    counts_written = true;
}

void remember(Function* function) {
    function->next = called;
    while (!called.compare_exchange_weak(function->next, function)) {
    }
}

CUresult injected(const char* name, unsigned long long call) {
    const std::lock_guard lock(failures_mutex);
    for (const Failure& failure : failures()) {
        if (failure.call == call && failure.function == name)
            return failure.code;
    }
    return CUDA_SUCCESS;
}

}  // namespace

CUresult Function::enter(Needs needs) {
    Thread& thread = this_thread();
    if (thread.entering_twin) {
        thread.entering_twin = false;
    } else {
        const unsigned long long call = calls.fetch_add(1, std::memory_order_relaxed) + 1;
        if (call == 1)
            remember(this);
        if (deinitialised.load(std::memory_order_relaxed)) {
            ++calls_after_exit;
            if (counts_written)  // the call comes from a library that ends after this one
                write_counts();
        }
        if (any_failure.load(std::memory_order_relaxed)) {
            if (const CUresult code = injected(name, call); code != CUDA_SUCCESS)
                return code;
        }
    }
    if (needs == Needs::nothing)
        return CUDA_SUCCESS;
    if (forked.load(std::memory_order_relaxed) || !initialised.load(std::memory_order_relaxed)) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (deinitialised.load(std::memory_order_relaxed))
        return CUDA_ERROR_DEINITIALIZED;
    return thread.in_callback ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

void deinitialise_at_exit() {
    // Not a destructor of this library: those run after all exit handlers, and the real driver is gone before.
    [[maybe_unused]] static const int registered = std::atexit([] { deinitialised = true; });
}

Twin::Twin() {
    this_thread().per_thread_default = true;
    this_thread().entering_twin = true;
}

Twin::~Twin() {
    this_thread().per_thread_default = false;
}

bool is_hidden(const char* exported_name) {
    for (const std::string& name : hidden()) {
        if (name == exported_name)
            return true;
    }
    return false;
}

}  // namespace keepgraph::sim

using namespace keepgraph::sim;

/// How often an exported function was called, injected failures included.
SIM_EXPORT unsigned long long keepgraph_sim_calls(const char* name) {
    for (Function* function = called; function != nullptr; function = function->next) {
        if (std::strcmp(function->name, name) == 0)
            return function->calls;
    }
    return 0;
}

/// Makes the given call of a function (1 is the first of the process) return an error and do nothing.
SIM_EXPORT void keepgraph_sim_fail(const char* name, unsigned long long call, int code) {
    add_failure(name, call, code);
}
