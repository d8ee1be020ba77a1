// SPDX-License-Identifier: Apache-2.0
// Copies and fills. All forms become one of two pieces of work, so capture, hand-made nodes and direct calls agree.
#include "capture.h"
#include "context.h"
#include "function.h"

using namespace keepgraph::sim;

namespace {

struct Address {
    CUmemorytype type;
    const void* host;
    CUdeviceptr device;
};

Address on_host(const void* pointer) {
    return {CU_MEMORYTYPE_HOST, pointer, 0};
}
Address on_device(CUdeviceptr pointer) {
    return {CU_MEMORYTYPE_DEVICE, nullptr, pointer};
}
/// cuMemcpy is not told: what no allocation covers is the program's own host memory.
Address somewhere(CUdeviceptr pointer) {
    return {CU_MEMORYTYPE_UNIFIED, nullptr, pointer};
}

CUDA_MEMCPY3D bytes(Address to, Address from, size_t size) {
    CUDA_MEMCPY3D p = {};
    p.srcMemoryType = from.type;
    p.srcHost = from.host;
    p.srcDevice = from.device;
    p.srcPitch = size;
    p.srcHeight = 1;
    p.dstMemoryType = to.type;
    p.dstHost = const_cast<void*>(to.host);
    p.dstDevice = to.device;
    p.dstPitch = size;
    p.dstHeight = 1;
    p.WidthInBytes = size;
    p.Height = p.Depth = 1;
    return p;
}

CUDA_MEMCPY3D rows(const CUDA_MEMCPY2D& c) {
    CUDA_MEMCPY3D p = {};
    p.srcXInBytes = c.srcXInBytes;
    p.srcY = c.srcY;
    p.srcMemoryType = c.srcMemoryType;
    p.srcHost = c.srcHost;
    p.srcDevice = c.srcDevice;
    p.srcPitch = c.srcPitch;
    p.dstXInBytes = c.dstXInBytes;
    p.dstY = c.dstY;
    p.dstMemoryType = c.dstMemoryType;
    p.dstHost = c.dstHost;
    p.dstDevice = c.dstDevice;
    p.dstPitch = c.dstPitch;
    p.WidthInBytes = c.WidthInBytes;
    p.Height = c.Height;
    p.Depth = 1;
    return p;
}

CUresult copy(const CUDA_MEMCPY3D& params, CUstream stream) {
    SIM_CONTEXT(context);
    if (params.WidthInBytes == 0)
        return CUDA_SUCCESS;
    if (const CUresult code = check_copy(params); code != CUDA_SUCCESS)
        return code;
    return submit(stream, CopyWork{params, handle_of<CUcontext>(context)});
}

/// A synchronous copy uses the default stream and cannot be captured.
CUresult copy_now(const CUDA_MEMCPY3D& params) {
    SIM_CONTEXT(context);
    (void)context;
    {
        const Locked lock;
        const Stream* stream = stream_of(nullptr);
        if (stream->capture != nullptr) {
            invalidate(*stream->capture);
            return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
    return copy(params, nullptr);
}

CUresult fill(CUdeviceptr dst, size_t pitch, unsigned value, unsigned element, size_t width, size_t height,
              CUstream stream) {
    SIM_CONTEXT(context);
    if (width == 0 || height == 0)
        return CUDA_SUCCESS;
    const CUDA_MEMSET_NODE_PARAMS_v2 params = {dst,    height == 1 ? 0 : pitch,      value, element, width,
                                               height, handle_of<CUcontext>(context)};
    if (const CUresult code = check_memset(params); code != CUDA_SUCCESS)
        return code;
    return submit(stream, MemsetWork{params});
}

CUresult fill_now(CUdeviceptr dst, size_t pitch, unsigned value, unsigned element, size_t width, size_t height) {
    return fill(dst, pitch, value, element, width, height, nullptr);
}

}  // namespace

SIM_EXPORT CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t size) {
    SIM_ENTER(cuMemcpy);
    return copy_now(bytes(somewhere(dst), somewhere(src), size));
}

SIM_EXPORT CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream) {
    SIM_ENTER(cuMemcpyAsync);
    return copy(bytes(somewhere(dst), somewhere(src), size), stream);
}

SIM_EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void* src, size_t size) {
    SIM_ENTER(cuMemcpyHtoD_v2);
    return copy_now(bytes(on_device(dst), on_host(src), size));
}

SIM_EXPORT CUresult cuMemcpyDtoH_v2(void* dst, CUdeviceptr src, size_t size) {
    SIM_ENTER(cuMemcpyDtoH_v2);
    return copy_now(bytes(on_host(dst), on_device(src), size));
}

SIM_EXPORT CUresult cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t size) {
    SIM_ENTER(cuMemcpyDtoD_v2);
    return copy_now(bytes(on_device(dst), on_device(src), size));
}

SIM_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void* src, size_t size, CUstream stream) {
    SIM_ENTER(cuMemcpyHtoDAsync_v2);
    return copy(bytes(on_device(dst), on_host(src), size), stream);
}

SIM_EXPORT CUresult cuMemcpyDtoHAsync_v2(void* dst, CUdeviceptr src, size_t size, CUstream stream) {
    SIM_ENTER(cuMemcpyDtoHAsync_v2);
    return copy(bytes(on_host(dst), on_device(src), size), stream);
}

SIM_EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream) {
    SIM_ENTER(cuMemcpyDtoDAsync_v2);
    return copy(bytes(on_device(dst), on_device(src), size), stream);
}

SIM_EXPORT CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* params) {
    SIM_ENTER(cuMemcpy2D_v2);
    return params != nullptr ? copy_now(rows(*params)) : CUDA_ERROR_INVALID_VALUE;
}

SIM_EXPORT CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* params) {
    SIM_ENTER(cuMemcpy2DUnaligned_v2);
    return params != nullptr ? copy_now(rows(*params)) : CUDA_ERROR_INVALID_VALUE;
}

SIM_EXPORT CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* params, CUstream stream) {
    SIM_ENTER(cuMemcpy2DAsync_v2);
    return params != nullptr ? copy(rows(*params), stream) : CUDA_ERROR_INVALID_VALUE;
}

SIM_EXPORT CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* params) {
    SIM_ENTER(cuMemcpy3D_v2);
    return params != nullptr ? copy_now(*params) : CUDA_ERROR_INVALID_VALUE;
}

SIM_EXPORT CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* params, CUstream stream) {
    SIM_ENTER(cuMemcpy3DAsync_v2);
    return params != nullptr ? copy(*params, stream) : CUDA_ERROR_INVALID_VALUE;
}

#define FILLS(bits, type)                                                                                    \
    SIM_EXPORT CUresult cuMemsetD##bits##_v2(CUdeviceptr dst, type value, size_t count) {                    \
        SIM_ENTER(cuMemsetD##bits##_v2);                                                                     \
        return fill_now(dst, 0, value, bits / 8, count, 1);                                                  \
    }                                                                                                        \
    SIM_EXPORT CUresult cuMemsetD##bits##Async(CUdeviceptr dst, type value, size_t count, CUstream stream) { \
        SIM_ENTER(cuMemsetD##bits##Async);                                                                   \
        return fill(dst, 0, value, bits / 8, count, 1, stream);                                              \
    }                                                                                                        \
    SIM_EXPORT CUresult cuMemsetD2D##bits##_v2(CUdeviceptr dst, size_t pitch, type value, size_t width,      \
                                               size_t height) {                                              \
        SIM_ENTER(cuMemsetD2D##bits##_v2);                                                                   \
        return fill_now(dst, pitch, value, bits / 8, width, height);                                         \
    }                                                                                                        \
    SIM_EXPORT CUresult cuMemsetD2D##bits##Async(CUdeviceptr dst, size_t pitch, type value, size_t width,    \
                                                 size_t height, CUstream stream) {                           \
        SIM_ENTER(cuMemsetD2D##bits##Async);                                                                 \
        return fill(dst, pitch, value, bits / 8, width, height, stream);                                     \
    }

FILLS(8, unsigned char)
FILLS(16, unsigned short)
FILLS(32, unsigned int)
