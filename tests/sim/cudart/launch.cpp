// SPDX-License-Identifier: Apache-2.0
//
// Kernels come from cudaLibraryLoadData and cudaLibraryGetKernel only: without nvcc no program can register
// functions, so __cudaRegisterFatBinary and its family are left out.
#include "runtime.h"

#include <pthread.h>
#include <stdlib.h>

using simrt::keep;

namespace simrt {
namespace {

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
const void** kernels = nullptr;
size_t kernel_count = 0;

void add_kernel(const void* kernel) {
    pthread_mutex_lock(&lock);
    kernels = static_cast<const void**>(realloc(kernels, (kernel_count + 1) * sizeof *kernels));
    kernels[kernel_count++] = kernel;
    pthread_mutex_unlock(&lock);
}

}  // namespace

bool is_kernel(const void* function) {
    bool known = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < kernel_count && !known; ++i) {
        known = kernels[i] == function;
    }
    pthread_mutex_unlock(&lock);
    return known;
}

}  // namespace simrt

// cudaLibrary* came with the headers of 12.8; labels keep the double buildable with 12.4.
SIMRT_API cudaError_t simrt_load(CUlibrary* library, const void* code, int* options, void** values, unsigned int count,
                                 int* library_options, void** library_values,
                                 unsigned int library_count) __asm__("cudaLibraryLoadData");
SIMRT_API cudaError_t simrt_load(CUlibrary* library, const void* code, int* options, void** values, unsigned int count,
                                 int* library_options, void** library_values, unsigned int library_count) {
    SIMRT_FORWARD(driver->cuLibraryLoadData, library, code, reinterpret_cast<CUjit_option*>(options), values, count,
                  reinterpret_cast<CUlibraryOption*>(library_options), library_values, library_count);
}

SIMRT_API cudaError_t simrt_unload(CUlibrary library) __asm__("cudaLibraryUnload");
SIMRT_API cudaError_t simrt_unload(CUlibrary library) {
    SIMRT_FORWARD(driver->cuLibraryUnload, library);
}

SIMRT_API cudaError_t simrt_kernel(CUkernel* kernel, CUlibrary library,
                                   const char* name) __asm__("cudaLibraryGetKernel");
SIMRT_API cudaError_t simrt_kernel(CUkernel* kernel, CUlibrary library, const char* name) {
    const simrt::Ready ready;
    if (ready.failed()) {
        return keep(ready.error);
    }
    const cudaError_t error = simrt::call(ready.driver->cuLibraryGetKernel, kernel, library, name);
    if (error == cudaSuccess && !simrt::is_kernel(*kernel)) {
        simrt::add_kernel(*kernel);
    }
    return keep(error);
}

SIMRT_TWIN(cudaLaunchKernel, _ptsz,
           (const void* function, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream),
           (function, grid, block, arguments, shared, stream)) {
    if (!simrt::is_kernel(function)) {
        return keep(cudaErrorInvalidDeviceFunction);
    }
    SIMRT_FORWARD(PICK(cuLaunchKernel), static_cast<CUfunction>(const_cast<void*>(function)), grid.x, grid.y, grid.z,
                  block.x, block.y, block.z, static_cast<unsigned int>(shared), stream, arguments, nullptr);
}

SIMRT_TWIN(cudaLaunchKernelExC, _ptsz, (const cudaLaunchConfig_t* config, const void* function, void** arguments),
           (config, function, arguments)) {
    if (!simrt::is_kernel(function)) {
        return keep(cudaErrorInvalidDeviceFunction);
    }
    CUlaunchConfig driver_config = {};
    driver_config.gridDimX = config->gridDim.x;
    driver_config.gridDimY = config->gridDim.y;
    driver_config.gridDimZ = config->gridDim.z;
    driver_config.blockDimX = config->blockDim.x;
    driver_config.blockDimY = config->blockDim.y;
    driver_config.blockDimZ = config->blockDim.z;
    driver_config.sharedMemBytes = static_cast<unsigned int>(config->dynamicSmemBytes);
    driver_config.hStream = config->stream;
    driver_config.attrs = reinterpret_cast<CUlaunchAttribute*>(config->attrs);
    driver_config.numAttrs = config->numAttrs;
    SIMRT_FORWARD(PICK(cuLaunchKernelEx), &driver_config, static_cast<CUfunction>(const_cast<void*>(function)),
                  arguments, nullptr);
}

SIMRT_TWIN(cudaLaunchHostFunc, _ptsz, (cudaStream_t stream, cudaHostFn_t function, void* data),
           (stream, function, data)) {
    SIMRT_FORWARD(PICK(cuLaunchHostFunc), stream, function, data);
}
