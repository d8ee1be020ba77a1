// SPDX-License-Identifier: Apache-2.0
#include "stream.h"

#include <pthread.h>
#include <time.h>

#include <cstdlib>

#include "capture.h"
#include "context.h"
#include "function.h"
#include "pools.h"
#include "thread.h"

namespace keepgraph::sim {
namespace {

Stream* new_stream(Context* context, unsigned flags, int priority) {
    Stream* stream = pool<Stream>().take();
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority;
    stream->id = next_id();
    return stream;
}

Stream* legacy_stream(Context* context) {
    if (context->legacy == nullptr) {
        context->legacy = new_stream(context, 0, 0);
        context->legacy->legacy = true;
    }
    return context->legacy;
}

Stream* per_thread_stream(Context* context) {
    auto& streams = this_thread().default_streams;
    for (const auto& [id, stream] : streams) {
        if (id == context->id)
            return stream;
    }
    return streams.emplace_back(context->id, new_stream(context, 0, 0)).second;
}

CUresult create(CUstream* out, unsigned flags, int priority) {
    if (out == nullptr || flags > CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    SIM_CONTEXT(context);
    const Locked lock;
    // Priorities outside of the range are clamped.
    *out = handle_of<CUstream>(new_stream(context, flags, priority > 0 ? 0 : priority < -5 ? -5 : priority));
    return CUDA_SUCCESS;
}

template <class Use>
CUresult with_stream(CUstream handle, Use use) {
    SIM_CONTEXT(context);
    (void)context;
    const Locked lock;
    Stream* stream = stream_of(handle);
    return stream != nullptr ? use(*stream) : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace

Stream* stream_of(CUstream handle) {
    const auto number = reinterpret_cast<uintptr_t>(handle);
    if (number > 2)
        return find<Stream>(handle);
    Context* context = current_context();
    if (context == nullptr)
        return nullptr;
    const bool per_thread = number == 2 || (number == 0 && this_thread().per_thread_default);
    return per_thread ? per_thread_stream(context) : legacy_stream(context);
}

void forget_streams_of(const Context* context) {
    pool<Stream>().for_each([&](Stream* stream) {
        if (stream->context != context)
            return;
        leave_captures(stream);
        pool<Stream>().give(stream);
    });
}

void wait_as_long_as_told() {
    static const long microseconds = [] {
        const char* text = std::getenv("KEEPGRAPH_SIM_SYNC_US");
        return text != nullptr ? std::atol(text) : 0;
    }();
    pthread_testcancel();
    if (microseconds == 0)
        return;
    const timespec wait = {microseconds / 1000000, microseconds % 1000000 * 1000};
    nanosleep(&wait, nullptr);
}

}  // namespace keepgraph::sim

using namespace keepgraph::sim;

SIM_EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
    SIM_ENTER(cuStreamCreate);
    return create(stream, flags, 0);
}

SIM_EXPORT CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int priority) {
    SIM_ENTER(cuStreamCreateWithPriority);
    return create(stream, flags, priority);
}

SIM_EXPORT CUresult cuStreamDestroy_v2(CUstream handle) {
    SIM_ENTER(cuStreamDestroy_v2);
    const Locked lock;
    auto* stream = reinterpret_cast<uintptr_t>(handle) <= 2 ? nullptr : find<Stream>(handle);
    if (stream == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    leave_captures(stream);
    pool<Stream>().give(stream);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuStreamSynchronize(CUstream handle) {
    SIM_ENTER(cuStreamSynchronize);
    SIM_CONTEXT(context);
    uint64_t id;
    {
        const Locked lock;
        const Stream* stream = stream_of(handle);
        if (stream == nullptr)
            return CUDA_ERROR_INVALID_HANDLE;
        if (const CUresult code = check_observation(stream); code != CUDA_SUCCESS)
            return code;
        id = stream->id;
    }
    wait_as_long_as_told();
    give_back_pool_memory(id);
    return context->lost;
}

SIM_EXPORT CUresult cuStreamQuery(CUstream handle) {
    SIM_ENTER(cuStreamQuery);
    SIM_CONTEXT(context);
    const Locked lock;
    const Stream* stream = stream_of(handle);
    if (stream == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    const CUresult code = check_observation(stream);
    return code != CUDA_SUCCESS ? code : context->lost;
}

SIM_EXPORT CUresult cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned int flags) {
    SIM_ENTER(cuStreamWaitEvent);
    if (flags > CU_EVENT_WAIT_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    return with_stream(handle, [&](Stream& stream) {
        const auto* event = find<Event>(event_handle);
        if (event == nullptr)
            return CUDA_ERROR_INVALID_HANDLE;
        if (stream.capture != nullptr && stream.capture->invalidated)
            return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        if (flags == CU_EVENT_WAIT_EXTERNAL) {
            if (stream.capture == nullptr)
                return CUDA_ERROR_ILLEGAL_STATE;
            Work work = EventWaitWork{event_handle};
            bool captured;
            return capture_work(&stream, work, &captured);
        }
        return join(&stream, event);
    });
}

SIM_EXPORT CUresult cuStreamGetCtx(CUstream handle, CUcontext* out) {
    SIM_ENTER(cuStreamGetCtx);
    if (out == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    return with_stream(handle, [&](const Stream& stream) {
        *out = handle_of<CUcontext>(stream.context);
        return CUDA_SUCCESS;
    });
}

SIM_EXPORT CUresult cuStreamGetFlags(CUstream handle, unsigned int* flags) {
    SIM_ENTER(cuStreamGetFlags);
    if (flags == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    return with_stream(handle, [&](const Stream& stream) {
        *flags = stream.flags;
        return CUDA_SUCCESS;
    });
}

SIM_EXPORT CUresult cuStreamGetPriority(CUstream handle, int* priority) {
    SIM_ENTER(cuStreamGetPriority);
    if (priority == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    return with_stream(handle, [&](const Stream& stream) {
        *priority = stream.priority;
        return CUDA_SUCCESS;
    });
}

SIM_EXPORT CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
    SIM_ENTER(cuStreamGetId);
    if (id == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    return with_stream(handle, [&](const Stream& stream) {
        *id = stream.id;
        return CUDA_SUCCESS;
    });
}

SIM_EXPORT CUresult cuStreamGetDevice(CUstream handle, CUdevice* device) {
    SIM_ENTER(cuStreamGetDevice);
    if (device == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    return with_stream(handle, [&](const Stream& stream) {
        *device = stream.context->device;
        return CUDA_SUCCESS;
    });
}
