// SPDX-License-Identifier: Apache-2.0
#include "runtime.h"

#include <pthread.h>
#include <stdlib.h>

namespace simrt {
namespace {

constexpr int max_devices = 64;

thread_local ThreadState state = {cudaSuccess, 0};
bool unloading = false;
CUresult init_result = CUDA_ERROR_NOT_INITIALIZED;
pthread_once_t init_once = PTHREAD_ONCE_INIT;
pthread_mutex_t context_lock = PTHREAD_MUTEX_INITIALIZER;
CUcontext primary[max_devices];

void init() {
    const Driver* found = driver();
    init_result = found != nullptr && found->cuInit != nullptr ? found->cuInit(0) : CUDA_ERROR_NOT_FOUND;
    // Registered at the first CUDA call, so it runs before the destructors of every static object made earlier: their
    // frees are answered with cudaErrorCudartUnloading.
    atexit([] { unloading = true; });
}

cudaError_t primary_context(const Driver* driver, int device, CUcontext* context) {
    if (device < 0 || device >= max_devices) {
        return cudaErrorInvalidDevice;
    }
    cudaError_t result = cudaSuccess;
    pthread_mutex_lock(&context_lock);
    if (primary[device] == nullptr) {
        result = call(driver->cuDevicePrimaryCtxRetain, &primary[device], static_cast<CUdevice>(device));
    }
    *context = primary[device];
    pthread_mutex_unlock(&context_lock);
    return result;
}

}  // namespace

ThreadState& thread_state() {
    return state;
}

cudaError_t keep(cudaError_t error) {
    if (error != cudaSuccess) {
        state.last_error = error;
    }
    return error;
}

cudaError_t initialise(const Driver** found) {
    if (unloading) {
        return cudaErrorCudartUnloading;
    }
    *found = driver();
    if (*found == nullptr) {
        return cudaErrorInsufficientDriver;
    }
    pthread_once(&init_once, init);
    return static_cast<cudaError_t>(init_result);
}

cudaError_t make_context(const Driver** found) {
    cudaError_t result = initialise(found);
    if (result != cudaSuccess) {
        return result;
    }
    const Driver* driver = *found;
    CUcontext context = nullptr;
    result = call(driver->cuCtxGetCurrent, &context);
    if (result != cudaSuccess || context != nullptr) {
        return result;
    }
    result = primary_context(driver, state.device, &context);
    return result != cudaSuccess ? result : call(driver->cuCtxSetCurrent, context);
}

void forget_primary_context(int device) {
    pthread_mutex_lock(&context_lock);
    primary[device] = nullptr;
    pthread_mutex_unlock(&context_lock);
}

}  // namespace simrt

using simrt::keep;

SIMRT_API cudaError_t cudaGetLastError() {
    const cudaError_t error = simrt::state.last_error;
    simrt::state.last_error = cudaSuccess;
    return error;
}

SIMRT_API cudaError_t cudaPeekAtLastError() {
    return simrt::state.last_error;
}

SIMRT_API cudaError_t cudaRuntimeGetVersion(int* version) {
    if (version == nullptr) {
        return keep(cudaErrorInvalidValue);
    }
    *version = SIMRT_VERSION;
    return cudaSuccess;
}

SIMRT_API cudaError_t cudaDriverGetVersion(int* version) {
    if (version == nullptr) {
        return keep(cudaErrorInvalidValue);
    }
    *version = 0;
    const simrt::Driver* driver = simrt::driver();
    return driver == nullptr ? cudaSuccess : keep(simrt::call(driver->cuDriverGetVersion, version));
}

SIMRT_API cudaError_t cudaGetDeviceCount(int* count) {
    const simrt::Driver* driver = nullptr;
    const cudaError_t error = simrt::initialise(&driver);
    return keep(error != cudaSuccess ? error : simrt::call(driver->cuDeviceGetCount, count));
}

SIMRT_API cudaError_t cudaGetDevice(int* device) {
    const simrt::Driver* driver = nullptr;
    const cudaError_t error = simrt::initialise(&driver);
    if (error != cudaSuccess) {
        return keep(error);
    }
    CUdevice current = 0;
    *device = driver->cuCtxGetDevice(&current) == CUDA_SUCCESS ? current : simrt::state.device;
    return cudaSuccess;
}

SIMRT_API cudaError_t cudaSetDevice(int device) {
    const simrt::Driver* driver = nullptr;
    cudaError_t error = simrt::initialise(&driver);
    int count = 0;
    if (error == cudaSuccess) {
        error = simrt::call(driver->cuDeviceGetCount, &count);
    }
    if (error == cudaSuccess && (device < 0 || device >= count)) {
        error = cudaErrorInvalidDevice;
    }
    CUcontext context = nullptr;
    if (error == cudaSuccess) {
        error = simrt::primary_context(driver, device, &context);
    }
    if (error == cudaSuccess) {
        simrt::state.device = device;
        error = simrt::call(driver->cuCtxSetCurrent, context);
    }
    return keep(error);
}

SIMRT_API cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    const simrt::Driver* driver = nullptr;
    const cudaError_t error = simrt::initialise(&driver);
    return keep(error != cudaSuccess ? error
                                     : simrt::call(driver->cuDeviceGetAttribute, value,
                                                   static_cast<CUdevice_attribute>(attribute), device));
}

SIMRT_API cudaError_t cudaDeviceSynchronize() {
    const simrt::Ready ready;
    return keep(ready.failed() ? ready.error : simrt::call(ready.driver->cuCtxSynchronize));
}

SIMRT_API cudaError_t cudaDeviceReset() {
    const simrt::Ready ready;
    if (ready.failed()) {
        return keep(ready.error);
    }
    const int device = simrt::state.device;
    const cudaError_t error = simrt::call(ready.driver->cuDevicePrimaryCtxReset_v2, device);
    simrt::forget_primary_context(device);
    ready.driver->cuCtxSetCurrent(nullptr);
    return keep(error);
}
