// SPDX-License-Identifier: Apache-2.0
// First versions of functions (most of them with 32-bit sizes and addresses) and others that no program calls any more.
// They are here because look-ups find them: cuMemAlloc asked for with version 2000 is not cuMemAlloc_v2. Their
// signatures do not matter, so this is C without cuda.h; all answer CUDA_ERROR_NOT_SUPPORTED.
#define OLD(name)                                          \
    __attribute__((visibility("default"))) int name(void); \
    int name(void) {                                       \
        return 801;                                        \
    }

OLD(cuCtxCreate)
OLD(cuCtxDestroy)
OLD(cuCtxPopCurrent)
OLD(cuCtxPushCurrent)
OLD(cuDeviceGetUuid)
OLD(cuDevicePrimaryCtxSetFlags)
OLD(cuDeviceTotalMem)
OLD(cuEventDestroy)
OLD(cuMemAlloc)
OLD(cuMemAllocHost)
OLD(cuMemAllocPitch)
OLD(cuMemFree)
OLD(cuMemGetAddressRange)
OLD(cuMemGetInfo)
OLD(cuMemHostGetDevicePointer)
OLD(cuMemcpy2D)
OLD(cuMemcpy2DAsync)
OLD(cuMemcpy2DUnaligned)
OLD(cuMemcpy3D)
OLD(cuMemcpy3DAsync)
OLD(cuMemcpyDtoD)
OLD(cuMemcpyDtoDAsync)
OLD(cuMemcpyDtoH)
OLD(cuMemcpyDtoHAsync)
OLD(cuMemcpyHtoD)
OLD(cuMemcpyHtoDAsync)
OLD(cuMemsetD16)
OLD(cuMemsetD2D16)
OLD(cuMemsetD2D32)
OLD(cuMemsetD2D8)
OLD(cuMemsetD32)
OLD(cuMemsetD8)
OLD(cuStreamDestroy)
OLD(cuStreamGetCtx_v2)
