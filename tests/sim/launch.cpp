// SPDX-License-Identifier: Apache-2.0
// Kernels and host functions for a stream.
#include "capture.h"
#include "context.h"
#include "function.h"

using namespace keepgraph::sim;

namespace {

CUresult launch(CUfunction function, const unsigned grid[3], const unsigned block[3], unsigned shared, CUstream stream,
                void** kernel_params, void** extra) {
    SIM_CONTEXT(context);
    (void)context;
    KernelWork work;
    {
        const Locked lock;
        const CUresult code = kernel_work(&work, function, nullptr, nullptr, grid, block, shared, kernel_params, extra);
        if (code != CUDA_SUCCESS)
            return code;
    }
    return submit(stream, std::move(work));
}

}  // namespace

SIM_EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
                                   unsigned int by, unsigned int bz, unsigned int shared, CUstream stream,
                                   void** kernel_params, void** extra) {
    SIM_ENTER(cuLaunchKernel);
    const unsigned grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
    return launch(f, grid, block, shared, stream, kernel_params, extra);
}

SIM_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** kernel_params, void** extra) {
    SIM_ENTER(cuLaunchKernelEx);
    if (config == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    const unsigned grid[] = {config->gridDimX, config->gridDimY, config->gridDimZ};
    const unsigned block[] = {config->blockDimX, config->blockDimY, config->blockDimZ};
    return launch(f, grid, block, config->sharedMemBytes, config->hStream, kernel_params, extra);
}

SIM_EXPORT CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
                                              unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                                              CUstream stream, void** kernel_params) {
    SIM_ENTER(cuLaunchCooperativeKernel);
    const unsigned grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
    return launch(f, grid, block, shared, stream, kernel_params, nullptr);
}

SIM_EXPORT CUresult cuLaunchHostFunc(CUstream stream, CUhostFn fn, void* user_data) {
    SIM_ENTER(cuLaunchHostFunc);
    if (fn == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    return submit(stream, HostWork{{fn, user_data}});
}
