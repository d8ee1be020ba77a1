// SPDX-License-Identifier: Apache-2.0
#include "context.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "address_space.h"
#include "capture.h"
#include "code.h"
#include "function.h"
#include "pools.h"
#include "stream.h"
#include "thread.h"

namespace keepgraph::sim {

uint64_t next_id() {
    static std::atomic<uint64_t> last{0};
    return ++last;
}

Thread& this_thread() {
    // Leaked: the main thread's thread_local objects die before static ones, whose destructors may still call CUDA.
    static thread_local Thread* const leaked = new Thread;
    Thread& thread = *leaked;
    if (thread.id == 0)
        thread.id = next_id();
    return thread;
}

std::mutex& Locked::mutex() {
    static auto* instance = new std::mutex;
    return *instance;
}

int device_count() {
    static const int count = [] {
        const char* text = std::getenv("KEEPGRAPH_SIM_DEVICES");
        return text != nullptr ? std::atoi(text) : 1;
    }();
    return count;
}

Context* current_context() {
    const auto& stack = this_thread().contexts;
    return stack.empty() || stack.back() == nullptr || stack.back()->kind != Kind::context ? nullptr : stack.back();
}

Context* primary_context(int device) {
    static auto* contexts = new std::vector<Context*>(device_count(), nullptr);
    Context*& context = (*contexts)[device];
    if (context == nullptr) {
        context = pool<Context>().take();
        context->id = next_id();
        context->device = device;
        context->primary = true;
    }
    return context;
}

namespace {

bool is_device(CUdevice device) {
    return device >= 0 && device < device_count();
}

CUresult create(CUcontext* out, unsigned flags, CUdevice device) {
    if (out == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    const Locked lock;
    Context* context = pool<Context>().take();
    context->id = next_id();
    context->device = device;
    context->flags = flags;
    this_thread().contexts.push_back(context);
    *out = handle_of<CUcontext>(context);
    return CUDA_SUCCESS;
}

CUresult release_primary(CUdevice device) {
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    const Locked lock;
    Context* context = primary_context(device);
    if (context->retained == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    --context->retained;
    return CUDA_SUCCESS;
}

/// The memory, the streams and the modules of a primary context die with it; its handle stays what it was.
CUresult reset_primary(CUdevice device) {
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    const Locked lock;
    Context* context = primary_context(device);
    forget_blocks_of(context);
    forget_modules_of(context);
    context->lost = CUDA_SUCCESS;
    return CUDA_SUCCESS;
}

CUresult synchronize(const Context* context) {
    if (context == nullptr)
        return CUDA_ERROR_INVALID_CONTEXT;
    {
        const Locked lock;
        if (const CUresult code = check_context_synchronize(context); code != CUDA_SUCCESS)
            return code;
    }
    wait_as_long_as_told();
    give_back_pool_memory();
    return context->lost;
}

}  // namespace
}  // namespace keepgraph::sim

using namespace keepgraph::sim;

#if CUDA_VERSION < 12050
struct CUctxCreateParams;
#endif

SIM_EXPORT CUresult cuInit(unsigned int flags) {
    SIM_ENTER_EARLY(cuInit);
    if (forked)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (device_count() == 0)
        return CUDA_ERROR_NO_DEVICE;
    if (deinitialised)
        return CUDA_ERROR_DEINITIALIZED;
    deinitialise_at_exit();
    initialised = true;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuDriverGetVersion(int* version) {
    SIM_ENTER_EARLY(cuDriverGetVersion);
    if (version == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *version = SIM_DRIVER_VERSION;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    SIM_ENTER(cuDeviceGet);
    if (device == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(ordinal))
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuDeviceGetCount(int* count) {
    SIM_ENTER(cuDeviceGetCount);
    if (count == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *count = device_count();
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
    SIM_ENTER(cuDeviceGetName);
    if (name == nullptr || length <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    std::snprintf(name, length, "keepgraph CPU double");
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
    SIM_ENTER(cuDeviceTotalMem_v2);
    if (bytes == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    *bytes = device_memory;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
    SIM_ENTER(cuDeviceGetUuid_v2);
    if (uuid == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    std::memset(uuid, 0, sizeof *uuid);
    uuid->bytes[15] = static_cast<char>(device + 1);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
    SIM_ENTER(cuDeviceGetAttribute);
    if (value == nullptr || attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    switch (attribute) {
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
            *value = 9;
            break;
        case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
            *value = 32;
            break;
        case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
            *value = 1024;
            break;
        case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
            *value = 64;
            break;
        case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
            *value = 0x7fffffff;
            break;
        case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
            *value = 132;
            break;
        case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
        case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
        case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
        case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
        case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
        case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
        case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
            *value = 1;
            break;
        case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
            *value = device + 1;
            break;
        default:
            *value = 0;
    }
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice device) {
    SIM_ENTER(cuDevicePrimaryCtxRetain);
    if (out == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    const Locked lock;
    Context* context = primary_context(device);
    ++context->retained;
    *out = handle_of<CUcontext>(context);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
    SIM_ENTER(cuDevicePrimaryCtxRelease);
    return release_primary(device);
}

SIM_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    SIM_ENTER(cuDevicePrimaryCtxRelease_v2);
    return release_primary(device);
}

SIM_EXPORT CUresult cuDevicePrimaryCtxReset(CUdevice device) {
    SIM_ENTER(cuDevicePrimaryCtxReset);
    return reset_primary(device);
}

SIM_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    SIM_ENTER(cuDevicePrimaryCtxReset_v2);
    return reset_primary(device);
}

SIM_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
    SIM_ENTER(cuDevicePrimaryCtxGetState);
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if (flags == nullptr || active == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    const Locked lock;
    const Context* context = primary_context(device);
    *flags = context->flags;
    *active = context->retained != 0;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags) {
    SIM_ENTER(cuDevicePrimaryCtxSetFlags_v2);
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    const Locked lock;
    primary_context(device)->flags = flags;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuCtxCreate_v2(CUcontext* out, unsigned int flags, CUdevice device) {
    SIM_ENTER(cuCtxCreate_v2);
    return create(out, flags, device);
}

SIM_EXPORT CUresult cuCtxCreate_v3(CUcontext* out, CUexecAffinityParam*, int, unsigned int flags, CUdevice device) {
    SIM_ENTER(cuCtxCreate_v3);
    return create(out, flags, device);
}

SIM_EXPORT CUresult cuCtxCreate_v4(CUcontext* out, CUctxCreateParams*, unsigned int flags, CUdevice device) {
    SIM_ENTER(cuCtxCreate_v4);
    return create(out, flags, device);
}

SIM_EXPORT CUresult cuCtxDestroy_v2(CUcontext handle) {
    SIM_ENTER(cuCtxDestroy_v2);
    auto* context = find<Context>(handle);
    if (context == nullptr)
        return handle == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (context->primary)
        return CUDA_ERROR_INVALID_CONTEXT;
    const Locked lock;
    forget_blocks_of(context);
    forget_streams_of(context);
    forget_modules_of(context);
    auto& stack = this_thread().contexts;
    if (!stack.empty() && stack.back() == context)
        stack.pop_back();
    pool<Context>().give(context);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuCtxSetCurrent(CUcontext handle) {
    SIM_ENTER(cuCtxSetCurrent);
    auto* context = find<Context>(handle);
    if (context == nullptr && handle != nullptr)
        return CUDA_ERROR_INVALID_CONTEXT;
    auto& stack = this_thread().contexts;
    if (!stack.empty())
        stack.pop_back();
    if (context != nullptr)
        stack.push_back(context);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuCtxGetCurrent(CUcontext* out) {
    SIM_ENTER(cuCtxGetCurrent);
    if (out == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *out = handle_of<CUcontext>(current_context());
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext handle) {
    SIM_ENTER(cuCtxPushCurrent_v2);
    auto* context = find<Context>(handle);
    if (context == nullptr)
        return CUDA_ERROR_INVALID_CONTEXT;
    this_thread().contexts.push_back(context);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext* out) {
    SIM_ENTER(cuCtxPopCurrent_v2);
    auto& stack = this_thread().contexts;
    if (stack.empty())
        return CUDA_ERROR_INVALID_CONTEXT;
    if (out != nullptr)
        *out = handle_of<CUcontext>(stack.back());
    stack.pop_back();
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuCtxGetDevice(CUdevice* device) {
    SIM_ENTER(cuCtxGetDevice);
    if (device == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    SIM_CONTEXT(context);
    *device = context->device;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext handle) {
    SIM_ENTER(cuCtxGetDevice_v2);
    if (device == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    const Context* context = handle != nullptr ? find<Context>(handle) : current_context();
    if (context == nullptr)
        return CUDA_ERROR_INVALID_CONTEXT;
    *device = context->device;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuCtxGetFlags(unsigned int* flags) {
    SIM_ENTER(cuCtxGetFlags);
    if (flags == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    SIM_CONTEXT(context);
    *flags = context->flags;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuCtxGetApiVersion(CUcontext handle, unsigned int* version) {
    SIM_ENTER(cuCtxGetApiVersion);
    if (version == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (handle != nullptr && find<Context>(handle) == nullptr)
        return CUDA_ERROR_INVALID_CONTEXT;
    *version = 3020;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
    SIM_ENTER(cuCtxGetId);
    if (id == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    const Context* context = handle != nullptr ? find<Context>(handle) : current_context();
    if (context == nullptr)
        return CUDA_ERROR_INVALID_CONTEXT;
    *id = context->id;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    SIM_ENTER(cuCtxGetStreamPriorityRange);
    SIM_CONTEXT(context);
    (void)context;
    if (least != nullptr)
        *least = 0;
    if (greatest != nullptr)
        *greatest = -5;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuCtxSynchronize(void) {
    SIM_ENTER(cuCtxSynchronize);
    return synchronize(current_context());
}

SIM_EXPORT CUresult cuCtxSynchronize_v2(CUcontext handle) {
    SIM_ENTER(cuCtxSynchronize_v2);
    return synchronize(handle != nullptr ? find<Context>(handle) : current_context());
}
