// SPDX-License-Identifier: Apache-2.0
// Memory that is gone: whether the CPU can still read it, what the driver knows of it, and what a replay gets that
// reads it. A replay that fails takes the context with it, so those probes end it.
//
// Readable while it lives is asked of managed and pinned memory alone, and nothing of cuMemAlloc: the CPU reads none of
// a GPU's own memory, and all that of the double. There is no copy from small dead pinned memory: the driver follows it
// inside the launch, and crashes.
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "fixture.h"

using namespace conformance;

namespace {

constexpr size_t small = 4096, large = size_t{2} << 20;

bool is_readable(CUdeviceptr address) {
    char byte;
    const iovec local = {&byte, 1}, remote = {reinterpret_cast<void*>(address), 1};
    if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1)
        return true;
    if (errno != EFAULT)
        throw std::runtime_error("process_vm_readv gave errno " + std::to_string(errno));
    return false;
}

enum class By { kernel, copy };

/// A graph that reads the first floats of `input`.
struct Reader {
    Reader(By by, CUdeviceptr input, CUstream stream = nullptr) : stream(stream) {
        if (by == By::kernel)
            graph.twice(input, result);
        else
            graph.copy(result, input, 256);
        exec.reset(new Exec(graph));
        MUST(exec->run());
    }
    CUresult launch() { return CU(cuGraphLaunch)(static_cast<CUgraphExec>(*exec), stream); }
    CUresult synchronize() { return CU(cuStreamSynchronize)(stream); }

    Buffer result;
    Graph graph;
    std::unique_ptr<Exec> exec;
    const CUstream stream;
};

void dead(Out& out, CUdeviceptr address) {
    unsigned long long id = 0;
    out("dead", is_readable(address));
    out("id", CU(cuPointerGetAttribute)(static_cast<void*>(&id), CU_POINTER_ATTRIBUTE_BUFFER_ID, address));
}

/// What a launch and the synchronize give, twice.
void replay(Out& out, Reader& reader) {
    for (int i = 0; i < 2; ++i) {
        out("launch", reader.launch());
        const CUresult code = reader.synchronize();
        out("synchronize", code);
        if (code != CUDA_SUCCESS)
            context_ended();
    }
}

CUdeviceptr managed(size_t size) {
    CUdeviceptr p = 0;
    MUST(CU(cuMemAllocManaged)(&p, size, unsigned{CU_MEM_ATTACH_GLOBAL}));
    *reinterpret_cast<float*>(p) = 1;
    return p;
}

void free_managed(CUdeviceptr p) {
    MUST(CU(cuMemFree_v2)(p));
}

CUdeviceptr pinned(size_t size) {
    void* p = nullptr;
    MUST(CU(cuMemHostAlloc)(&p, size, 0u));
    *static_cast<float*>(p) = 1;
    return reinterpret_cast<CUdeviceptr>(p);
}

void free_pinned(CUdeviceptr p) {
    MUST(CU(cuMemFreeHost)(reinterpret_cast<void*>(p)));
}

/// With a neighbour that lives on: small blocks share what the driver maps.
void on_host(Out& out, By by, size_t size, CUdeviceptr (*allocate)(size_t), void (*free)(CUdeviceptr)) {
    const CUdeviceptr neighbour = allocate(size), p = allocate(size);
    Reader reader(by, p);
    out("alive", is_readable(p));
    free(p);
    dead(out, p);
    replay(out, reader);
    if (!has_context_ended())
        free(neighbour);
}

void mapped(Out& out, By by) {
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemAccessDesc access = {};
    access.location = properties.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CUdeviceptr p = 0;
    CUmemGenericAllocationHandle handle = 0;
    MUST(CU(cuMemAddressReserve)(&p, large, size_t{0}, CUdeviceptr{0}, 0ull));
    out("reserved", is_readable(p));
    MUST(CU(cuMemCreate)(&handle, large, &properties, 0ull));
    MUST(CU(cuMemMap)(p, large, size_t{0}, handle, 0ull));
    MUST(CU(cuMemSetAccess)(p, large, &access, size_t{1}));
    Reader reader(by, p);
    MUST(CU(cuMemUnmap)(p, large));
    dead(out, p);
    replay(out, reader);
}

/// A pool of its own, so that nothing else of the process keeps its memory mapped.
class Pool {
  public:
    Pool() {
        CUmemPoolProps properties = {};
        properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        MUST(CU(cuMemPoolCreate)(&handle_, &properties));
    }
    ~Pool() { CU(cuMemPoolDestroy)(handle_); }
    Pool(const Pool&) = delete;
    operator CUmemoryPool() const { return handle_; }

    CUdeviceptr allocate(size_t size) {
        CUdeviceptr p = 0;
        MUST(CU(cuMemAllocFromPoolAsync)(&p, size, handle_, static_cast<CUstream>(stream)));
        synchronize();
        return p;
    }
    void free(CUdeviceptr p) { MUST(CU(cuMemFreeAsync)(p, static_cast<CUstream>(stream))); }
    void synchronize() { MUST(CU(cuStreamSynchronize)(static_cast<CUstream>(stream))); }

    Stream stream;

  private:
    CUmemoryPool handle_ = nullptr;
};

void of_pool(Out& out, By by, size_t size) {
    Pool pool;
    const CUdeviceptr p = pool.allocate(size);
    Reader reader(by, p);
    pool.free(p);
    pool.synchronize();
    dead(out, p);
    replay(out, reader);
}

/// Small memory of `pool` is freed, and `wait` called; the replays are in a stream of their own.
template <class Wait>
void after(Out& out, Pool& pool, Wait wait) {
    const CUdeviceptr p = pool.allocate(small);
    const Stream stream;
    Reader reader(By::kernel, p, stream);
    pool.free(p);
    wait();
    replay(out, reader);
}

}  // namespace

PROBE("dead.managed_small.kernel") {
    on_host(out, By::kernel, small, managed, free_managed);
}
PROBE("dead.managed_small.copy") {
    on_host(out, By::copy, small, managed, free_managed);
}
PROBE("dead.managed_large.kernel") {
    on_host(out, By::kernel, large, managed, free_managed);
}
PROBE("dead.managed_large.copy") {
    on_host(out, By::copy, large, managed, free_managed);
}
PROBE("dead.pinned_small.kernel") {
    on_host(out, By::kernel, small, pinned, free_pinned);
}
PROBE("dead.pinned_large.kernel") {
    on_host(out, By::kernel, large, pinned, free_pinned);
}
PROBE("dead.pinned_large.copy") {
    on_host(out, By::copy, large, pinned, free_pinned);
}
PROBE("dead.mapped.kernel") {
    mapped(out, By::kernel);
}
PROBE("dead.mapped.copy") {
    mapped(out, By::copy);
}
PROBE("dead.pool_small.kernel") {
    of_pool(out, By::kernel, small);
}
PROBE("dead.pool_large.copy") {
    of_pool(out, By::copy, large);
}
// The second replay comes after the synchronize of the first.
PROBE("dead.pool_before_synchronize") {
    Pool pool;
    const CUdeviceptr p = pool.allocate(small);
    Reader reader(By::kernel, p, pool.stream);
    pool.free(p);
    replay(out, reader);
}
PROBE("dead.pool_neighbour") {
    Pool pool;
    const CUdeviceptr neighbour = pool.allocate(small);
    after(out, pool, [&] { pool.synchronize(); });
    pool.free(neighbour);
}
PROBE("dead.pool_threshold") {
    Pool pool;
    cuuint64_t bytes = cuuint64_t{1} << 30;
    MUST(CU(cuMemPoolSetAttribute)(static_cast<CUmemoryPool>(pool), CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                   static_cast<void*>(&bytes)));
    after(out, pool, [&] { pool.synchronize(); });
}
PROBE("dead.pool_trimmed") {
    Pool pool;
    after(out, pool, [&] { out("trim", CU(cuMemPoolTrimTo)(static_cast<CUmemoryPool>(pool), size_t{0})); });
}
PROBE("dead.pool_other_stream") {
    Pool pool;
    const Stream other;
    after(out, pool, [&] { MUST(CU(cuStreamSynchronize)(static_cast<CUstream>(other))); });
}
PROBE("dead.pool_event") {
    Pool pool;
    const Event event;
    after(out, pool, [&] {
        MUST(CU(cuEventRecord)(static_cast<CUevent>(event), static_cast<CUstream>(pool.stream)));
        MUST(CU(cuEventSynchronize)(static_cast<CUevent>(event)));
    });
}
PROBE("dead.pool_cuMemFree") {
    Pool pool;
    const CUdeviceptr p = pool.allocate(small);
    const Stream stream;
    Reader reader(By::kernel, p, stream);
    MUST(CU(cuMemFree_v2)(p));
    replay(out, reader);
}
PROBE("dead.pool_context") {
    Pool pool;
    after(out, pool, [&] { MUST(CU(cuCtxSynchronize)()); });
}
