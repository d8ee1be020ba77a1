// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "capture.h"
#include "context.h"
#include "function.h"
#include "pools.h"

namespace keepgraph::sim {

void record(Event* event) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    event->recorded = true;
    event->milliseconds = std::chrono::duration<double, std::milli>(now).count();
}

namespace {

CUresult record_on(CUevent handle, CUstream stream_handle, unsigned flags) {
    if (flags > CU_EVENT_RECORD_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    SIM_CONTEXT(context);
    (void)context;
    const Locked lock;
    auto* event = find<Event>(handle);
    Stream* stream = stream_of(stream_handle);
    if (event == nullptr || stream == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture == nullptr) {
        if (flags == CU_EVENT_RECORD_EXTERNAL)
            return CUDA_ERROR_ILLEGAL_STATE;
        if (const CUresult code = check_legacy(stream); code != CUDA_SUCCESS)
            return code;
        event->capture = nullptr;
        event->after.clear();
        record(event);
        event->stream = stream->id;
        return CUDA_SUCCESS;
    }
    if (stream->capture->invalidated)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (flags == CU_EVENT_RECORD_EXTERNAL) {
        Work work = EventRecordWork{handle};
        bool captured;
        return capture_work(stream, work, &captured);
    }
    event->capture = stream->capture;
    event->after = stream->after;
    return CUDA_SUCCESS;
}

/// Query, synchronize, elapsed time.
CUresult observe(const Event* event) {
    if (event == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (event->capture != nullptr) {
        if (event->capture->over || event->capture->invalidated)
            return CUDA_ERROR_INVALID_VALUE;
        invalidate(*event->capture);
        return CUDA_ERROR_CAPTURED_EVENT;
    }
    return unsafe_call();
}

CUresult elapsed(float* milliseconds, CUevent from, CUevent to) {
    if (milliseconds == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    const Locked lock;
    const auto *start = find<Event>(from), *end = find<Event>(to);
    if (start == nullptr || end == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (start->capture != nullptr || end->capture != nullptr)
        return CUDA_ERROR_CAPTURED_EVENT;
    if (!start->recorded || !end->recorded || ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) != 0) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *milliseconds = static_cast<float>(end->milliseconds - start->milliseconds);
    return CUDA_SUCCESS;
}

}  // namespace
}  // namespace keepgraph::sim

using namespace keepgraph::sim;

SIM_EXPORT CUresult cuEventCreate(CUevent* out, unsigned int flags) {
    SIM_ENTER(cuEventCreate);
    if (out == nullptr || flags > 7)
        return CUDA_ERROR_INVALID_VALUE;
    SIM_CONTEXT(context);
    const Locked lock;
    Event* event = pool<Event>().take();
    event->context = context;
    event->flags = flags;
    *out = handle_of<CUevent>(event);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuEventDestroy_v2(CUevent handle) {
    SIM_ENTER(cuEventDestroy_v2);
    const Locked lock;
    auto* event = find<Event>(handle);
    if (event == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    pool<Event>().give(event);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuEventRecord(CUevent event, CUstream stream) {
    SIM_ENTER(cuEventRecord);
    return record_on(event, stream, 0);
}

SIM_EXPORT CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags) {
    SIM_ENTER(cuEventRecordWithFlags);
    return record_on(event, stream, flags);
}

SIM_EXPORT CUresult cuEventQuery(CUevent event) {
    SIM_ENTER(cuEventQuery);
    const Locked lock;
    return observe(find<Event>(event));
}

SIM_EXPORT CUresult cuEventSynchronize(CUevent event) {
    SIM_ENTER(cuEventSynchronize);
    uint64_t stream;
    {
        const Locked lock;
        const auto* synchronized = find<Event>(event);
        if (const CUresult code = observe(synchronized); code != CUDA_SUCCESS)
            return code;
        stream = synchronized->stream;
    }
    wait_as_long_as_told();
    give_back_pool_memory(stream);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
    SIM_ENTER(cuEventElapsedTime);
    return elapsed(milliseconds, start, end);
}

SIM_EXPORT CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
    SIM_ENTER(cuEventElapsedTime_v2);
    return elapsed(milliseconds, start, end);
}
