// SPDX-License-Identifier: Apache-2.0
//
// What every function of this cudart does around its one driver call: load the driver, make a context current, keep the
// thread's last error. Results of the driver and of the runtime have the same numbers since CUDA 10.1.
#pragma once

#include "driver.h"

#include <cuda_runtime_api.h>

// The real archive has its symbols hidden, the real library exports them under a version node.
#ifdef SIMRT_STATIC
#define SIMRT_API extern "C" __attribute__((visibility("hidden")))
#else
#define SIMRT_API extern "C" __attribute__((visibility("default")))
#endif

// A function and its per-thread-default-stream twin from one body, which picks its entry points with PICK.
#define SIMRT_TWIN(name, suffix, parameters, arguments) \
    template <bool per_thread>                          \
    static cudaError_t name##_body parameters;          \
    SIMRT_API cudaError_t name parameters {             \
        return name##_body<false> arguments;            \
    }                                                   \
    SIMRT_API cudaError_t name##suffix parameters {     \
        return name##_body<true> arguments;             \
    }                                                   \
    template <bool per_thread>                          \
    static cudaError_t name##_body parameters

#define PICK(decl) (per_thread ? driver->decl##_ptsz : driver->decl)

// Most functions: context, one driver call, record. The entry point may be missing in an older driver.
#define SIMRT_FORWARD(decl, ...)                                                                        \
    do {                                                                                                \
        const simrt::Ready ready;                                                                       \
        [[maybe_unused]] const simrt::Driver* driver = ready.driver;                                    \
        return ready.failed() ? simrt::keep(ready.error) : simrt::keep(simrt::call(decl, __VA_ARGS__)); \
    } while (0)

namespace simrt {

struct ThreadState {
    cudaError_t last_error;
    int device;
};
ThreadState& thread_state();

// Remembers a failure as the thread's last error; cudaGetLastError takes it out.
cudaError_t keep(cudaError_t error);

// Driver loaded and cuInit done, no context needed.
cudaError_t initialise(const Driver** driver);
// The same, and a context is current: the program's own, else the primary one of the thread's device.
cudaError_t make_context(const Driver** driver);
// After a device reset the primary context has to be retained again.
void forget_primary_context(int device);

struct Ready {
    const Driver* driver = nullptr;
    cudaError_t error;
    Ready() : error(make_context(&driver)) {}
    bool failed() const { return error != cudaSuccess; }
};

template <class Function, class... Arguments>
cudaError_t call(Function entry, Arguments... arguments) {
    return entry == nullptr ? cudaErrorCallRequiresNewerDriver : static_cast<cudaError_t>(entry(arguments...));
}

inline CUdeviceptr address(const void* pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

// Kernel handles that this cudart gave out: anything else is no function to it, as for the real one.
bool is_kernel(const void* function);

}  // namespace simrt
