// SPDX-License-Identifier: Apache-2.0
#include "work.h"

#include <cstring>

#include "address_space.h"
#include "closed.h"
#include "context.h"
#include "stream.h"
#include "thread.h"

namespace keepgraph::sim {
namespace {

template <class... Cases>
struct Overload : Cases... {
    using Cases::operator()...;
};
template <class... Cases>
Overload(Cases...) -> Overload<Cases...>;

struct Side {
    unsigned char* base;
    size_t pitch, height;
};

Side side(CUmemorytype type, const void* host, CUdeviceptr device, size_t pitch, size_t height, size_t x, size_t y,
          size_t z, const CUDA_MEMCPY3D& p) {
    if (pitch == 0)
        pitch = p.WidthInBytes;
    if (height == 0)
        height = p.Height;
    auto* base = type == CU_MEMORYTYPE_HOST ? static_cast<unsigned char*>(const_cast<void*>(host))
                                            : reinterpret_cast<unsigned char*>(device);
    return {base + z * pitch * height + y * pitch + x, pitch, height};
}

CUdeviceptr address_of(const void* pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

template <class Use>
CUresult for_each_row(const Side& from, const Side& to, const CUDA_MEMCPY3D& p, Use use) {
    for (size_t z = 0; z < p.Depth; ++z) {
        for (size_t y = 0; y < p.Height; ++y) {
            const CUresult code =
                use(from.base + (z * from.height + y) * from.pitch, to.base + (z * to.height + y) * to.pitch);
            if (code != CUDA_SUCCESS)
                return code;
        }
    }
    return CUDA_SUCCESS;
}

CUresult copy(const CUDA_MEMCPY3D& p) {
    const Side from =
        side(p.srcMemoryType, p.srcHost, p.srcDevice, p.srcPitch, p.srcHeight, p.srcXInBytes, p.srcY, p.srcZ, p);
    const Side to =
        side(p.dstMemoryType, p.dstHost, p.dstDevice, p.dstPitch, p.dstHeight, p.dstXInBytes, p.dstY, p.dstZ, p);
    Touching memory;
    const CUresult code = for_each_row(from, to, p, [&](const void* source, const void* target) {
        const CUresult answer = memory.by_copy(address_of(source), p.WidthInBytes);
        return answer != CUDA_SUCCESS ? answer : memory.by_copy(address_of(target), p.WidthInBytes);
    });
    if (code != CUDA_SUCCESS)
        return code;
    memory.run();
    return for_each_row(from, to, p, [&](const void* source, void* target) {
        std::memmove(target, source, p.WidthInBytes);
        return CUDA_SUCCESS;
    });
}

CUresult set(const CUDA_MEMSET_NODE_PARAMS_v2& p) {
    Touching memory;
    for (size_t y = 0; y < p.height; ++y) {
        const CUresult code = memory.by_write(p.dst + y * p.pitch, p.width * p.elementSize);
        if (code != CUDA_SUCCESS)
            return code;
    }
    memory.run();
    for (size_t y = 0; y < p.height; ++y) {
        auto* row = reinterpret_cast<unsigned char*>(p.dst + y * p.pitch);
        for (size_t x = 0; x < p.width; ++x)
            std::memcpy(row + x * p.elementSize, &p.value, p.elementSize);
    }
    return CUDA_SUCCESS;
}

CUresult call_host(const CUDA_HOST_NODE_PARAMS& params) {
    this_thread().in_callback = true;
    params.fn(params.userData);
    this_thread().in_callback = false;
    return CUDA_SUCCESS;
}

CUresult kernel(const KernelWork& work) {
    if (work.code->run == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const unsigned long long blocks = 1ull * work.grid[0] * work.grid[1] * work.grid[2];
    const unsigned long long threads = blocks * work.block[0] * work.block[1] * work.block[2];
    return work.code->run(work.values.data(), blocks, threads);
}

CUresult batch(const BatchWork& work) {
    for (const CUstreamBatchMemOpParams& operation : work.operations) {
        const bool is_wide = operation.operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
        // Waits: all earlier work has run, nothing is left to wait for.
        if (!is_wide && operation.operation != CU_STREAM_MEM_OP_WRITE_VALUE_32)
            continue;
        const auto& write = operation.writeValue;
        Touching memory;
        if (const CUresult code = memory.by_write(write.address, is_wide ? 8 : 4); code != CUDA_SUCCESS)
            return code;
        memory.run();
        if (is_wide)
            std::memcpy(reinterpret_cast<void*>(write.address), &write.value64, 8);
        else
            std::memcpy(reinterpret_cast<void*>(write.address), &write.value, 4);
    }
    return CUDA_SUCCESS;
}

/// As on a GPU: the launch succeeds, and the context is lost for whoever looks next.
CUresult lose(CUcontext handle, CUresult code) {
    if (code != CUDA_ERROR_ILLEGAL_ADDRESS && code != CUDA_ERROR_LAUNCH_FAILED)
        return code;
    auto* context = find<Context>(handle);
    if (context == nullptr)
        context = current_context();
    if (context != nullptr)
        context->lost = code;
    return CUDA_SUCCESS;
}

}  // namespace

KernelWork& KernelWork::operator=(const KernelWork& other) {
    if (this == &other)
        return *this;
    code = other.code;
    func = other.func;
    kern = other.kern;
    ctx = other.ctx;
    std::copy(other.grid, other.grid + 3, grid);
    std::copy(other.block, other.block + 3, block);
    shared = other.shared;
    by_extra = other.by_extra;
    values = other.values;
    point();
    return *this;
}

void KernelWork::point() {
    if (code == nullptr)
        return;
    pointers.clear();
    for (const Parameter& parameter : code->parameters)
        pointers.push_back(values.data() + parameter.offset);
    extra_size = values.size();
    // This order, size first, is what the real driver gives back, whatever the program's order was.
    void* keys[5] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &extra_size, CU_LAUNCH_PARAM_BUFFER_POINTER, values.data(),
                     CU_LAUNCH_PARAM_END};
    std::copy(keys, keys + 5, extra);
}

CUgraphNodeType type_of(const Work& work) {
    static constexpr CUgraphNodeType types[] = {
        CU_GRAPH_NODE_TYPE_KERNEL,     CU_GRAPH_NODE_TYPE_MEMCPY,       CU_GRAPH_NODE_TYPE_MEMSET,
        CU_GRAPH_NODE_TYPE_HOST,       CU_GRAPH_NODE_TYPE_GRAPH,        CU_GRAPH_NODE_TYPE_EMPTY,
        CU_GRAPH_NODE_TYPE_WAIT_EVENT, CU_GRAPH_NODE_TYPE_EVENT_RECORD, CU_GRAPH_NODE_TYPE_MEM_ALLOC,
        CU_GRAPH_NODE_TYPE_MEM_FREE,   CU_GRAPH_NODE_TYPE_BATCH_MEM_OP};
    static_assert(std::size(types) == std::variant_size_v<Work>);
    return types[work.index()];
}

CUresult run(const Work& work) {
    return std::visit(Overload{
                          [](const KernelWork& w) { return lose(w.ctx, kernel(w)); },
                          [](const CopyWork& w) { return lose(w.ctx, copy(w.params)); },
                          [](const MemsetWork& w) { return lose(w.params.ctx, set(w.params)); },
                          [](const HostWork& w) { return call_host(w.params); },
                          [](const ChildWork&) { return CUDA_SUCCESS; },
                          [](const EmptyWork&) { return CUDA_SUCCESS; },
                          [](const EventWaitWork&) { return CUDA_SUCCESS; },
                          [](const EventRecordWork& w) {
                              // The event may be destroyed by now: the real driver says nothing either.
                              const Locked lock;
                              if (auto* event = find<Event>(w.event))
                                  record(event);
                              return CUDA_SUCCESS;
                          },
                          [](const AllocWork& w) {
                              const Locked lock;
                              if (block_starting_at(w.params.dptr) == nullptr) {
                                  add_block(w.params.dptr, w.params.bytesize, Origin::graph, w.context);
                              }
                              return CUDA_SUCCESS;
                          },
                          [](const FreeWork& w) {
                              const Locked lock;
                              const Block* block = block_starting_at(w.dptr);
                              if (block == nullptr)
                                  return CUDA_SUCCESS;
                              // Addresses of a graph's allocation stay the graph's.
                              if (block->origin == Origin::graph) {
                                  remove_block(w.dptr);
                              } else {
                                  release(w.dptr, any_stream);
                              }
                              return CUDA_SUCCESS;
                          },
                          [](const BatchWork& w) { return lose(w.ctx, batch(w)); },
                      },
                      work);
}

CUresult kernel_work(KernelWork* out, CUfunction func, CUkernel kern, CUcontext ctx, const unsigned grid[3],
                     const unsigned block[3], unsigned shared, void** kernel_params, void** extra) {
    if (func == nullptr && kern == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    auto* function = find<CodeFunction>(func);
    auto* kernel = find<Kernel>(kern);
    if (function == nullptr && func != nullptr)
        kernel = find<Kernel>(func);
    if (function == nullptr && kernel == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (function == nullptr)
        function = kernel->function;
    for (int i = 0; i < 3; ++i) {
        if (grid[i] == 0 || block[i] == 0)
            return CUDA_ERROR_INVALID_VALUE;
        out->grid[i] = grid[i];
        out->block[i] = block[i];
    }
    if (1ull * block[0] * block[1] * block[2] > 1024)
        return CUDA_ERROR_INVALID_VALUE;
    if (shared > 232448)
        return CUDA_ERROR_INVALID_VALUE;
    out->code = function->code;
    out->func = handle_of<CUfunction>(function);
    out->kern = handle_of<CUkernel>(function->kernel);
    out->ctx = ctx != nullptr ? ctx : handle_of<CUcontext>(current_context());
    out->shared = shared;
    const Code& code = *function->code;
    out->values.assign(code.parameter_bytes, 0);
    if (kernel_params != nullptr && extra != nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (extra != nullptr) {
        const void* buffer = nullptr;
        const size_t* size = nullptr;
        for (void** key = extra; *key != CU_LAUNCH_PARAM_END; key += 2) {
            if (*key == CU_LAUNCH_PARAM_BUFFER_POINTER)
                buffer = key[1];
            if (*key == CU_LAUNCH_PARAM_BUFFER_SIZE)
                size = static_cast<const size_t*>(key[1]);
        }
        if (buffer == nullptr || size == nullptr || *size != code.parameter_bytes)
            return CUDA_ERROR_INVALID_VALUE;
        std::memcpy(out->values.data(), buffer, *size);
        out->by_extra = true;
    } else {
        if (kernel_params == nullptr && !code.parameters.empty())
            return CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; i < code.parameters.size(); ++i) {
            std::memcpy(out->values.data() + code.parameters[i].offset, kernel_params[i], code.parameters[i].size);
        }
    }
    out->point();
    return CUDA_SUCCESS;
}

CUresult check_copy(const CUDA_MEMCPY3D& p) {
    auto known = [](CUmemorytype type) {
        return type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED;
    };
    if (!known(p.srcMemoryType) || !known(p.dstMemoryType))
        return CUDA_ERROR_INVALID_VALUE;
    if ((p.srcMemoryType == CU_MEMORYTYPE_HOST ? p.srcHost == nullptr : p.srcDevice == 0) ||
        (p.dstMemoryType == CU_MEMORYTYPE_HOST ? p.dstHost == nullptr : p.dstDevice == 0)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if ((p.srcPitch != 0 && p.srcPitch < p.WidthInBytes) || (p.dstPitch != 0 && p.dstPitch < p.WidthInBytes)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    // Unlike a kernel, a copy is refused at once when its device memory is nobody's.
    const Locked lock;
    if (p.srcMemoryType == CU_MEMORYTYPE_DEVICE && block_at(p.srcDevice) == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (p.dstMemoryType == CU_MEMORYTYPE_DEVICE && block_at(p.dstDevice) == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult check_memset(const CUDA_MEMSET_NODE_PARAMS_v2& p) {
    if (p.elementSize != 1 && p.elementSize != 2 && p.elementSize != 4)
        return CUDA_ERROR_INVALID_VALUE;
    if (p.dst == 0 || p.dst % p.elementSize != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (p.height > 1 && p.pitch < p.width * p.elementSize)
        return CUDA_ERROR_INVALID_VALUE;
    const Locked lock;
    return block_at(p.dst) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace keepgraph::sim
