# SPDX-License-Identifier: Apache-2.0
"""The main job from Python, over nothing but ctypes and the driver: an input of a graph is freed before its replay."""
import ctypes
import sys

cuda = ctypes.CDLL("libcuda.so.1")
SIZE = 4096


def must(code):
    if code != 0:
        raise SystemExit("the driver said %d" % code)


def handle():
    return ctypes.c_void_p()


def allocate():
    pointer = handle()
    must(cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(SIZE)))
    return pointer


def begin_capture(stream):
    must(cuda.cuStreamBeginCapture_v2(stream, 1))


def capture_copy(stream, source, target):
    graph = handle()
    begin_capture(stream)
    must(cuda.cuMemcpyDtoDAsync_v2(target, source, ctypes.c_size_t(SIZE), stream))
    must(cuda.cuStreamEndCapture(stream, ctypes.byref(graph)))
    return graph


def release(pointer):
    must(cuda.cuMemFree_v2(pointer))


def replay(what, executable, stream, target):
    value = ctypes.c_uint()
    launched = cuda.cuGraphLaunch(executable, stream)
    synchronized = cuda.cuStreamSynchronize(stream)
    must(cuda.cuMemcpyDtoH_v2(ctypes.byref(value), target, ctypes.c_size_t(4)))
    print("%s: launch %d, synchronize %d, output %d" % (what, launched, synchronized, value.value))


def main():
    device, context, stream, executable = ctypes.c_int(), handle(), handle(), handle()
    must(cuda.cuInit(0))
    must(cuda.cuDeviceGet(ctypes.byref(device), 0))
    must(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    must(cuda.cuCtxSetCurrent(context))
    must(cuda.cuStreamCreate(ctypes.byref(stream), 1))
    # The first buffer keeps the driver's page mapped, so that the late read cannot fault on a GPU.
    _, source, target = allocate(), allocate(), allocate()
    must(cuda.cuMemsetD32_v2(source, 42, ctypes.c_size_t(SIZE // 4)))
    graph = capture_copy(stream, source, target)
    must(cuda.cuGraphInstantiateWithFlags(ctypes.byref(executable), graph, ctypes.c_ulonglong(0)))
    must(cuda.cuGraphDestroy(graph))
    replay("before the free", executable, stream, target)
    release(source)
    replay("after the free", executable, stream, target)


sys.exit(main())
