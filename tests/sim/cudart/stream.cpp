// SPDX-License-Identifier: Apache-2.0
#include "runtime.h"

using simrt::keep;

SIMRT_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
    SIMRT_FORWARD(driver->cuStreamCreate, stream, flags);
}

SIMRT_API cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    SIMRT_FORWARD(driver->cuStreamCreate, stream, 0u);
}

SIMRT_API cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    SIMRT_FORWARD(driver->cuStreamDestroy_v2, stream);
}

SIMRT_TWIN(cudaStreamSynchronize, _ptsz, (cudaStream_t stream), (stream)) {
    SIMRT_FORWARD(PICK(cuStreamSynchronize), stream);
}

SIMRT_TWIN(cudaStreamQuery, _ptsz, (cudaStream_t stream), (stream)) {
    SIMRT_FORWARD(PICK(cuStreamQuery), stream);
}

SIMRT_TWIN(cudaStreamWaitEvent, _ptsz, (cudaStream_t stream, cudaEvent_t event, unsigned int flags),
           (stream, event, flags)) {
    SIMRT_FORWARD(PICK(cuStreamWaitEvent), stream, event, flags);
}

// ---- capture
SIMRT_TWIN(cudaStreamBeginCapture, _ptsz, (cudaStream_t stream, cudaStreamCaptureMode mode), (stream, mode)) {
    SIMRT_FORWARD(PICK(cuStreamBeginCapture_v2), stream, static_cast<CUstreamCaptureMode>(mode));
}

SIMRT_TWIN(cudaStreamEndCapture, _ptsz, (cudaStream_t stream, cudaGraph_t* graph), (stream, graph)) {
    SIMRT_FORWARD(PICK(cuStreamEndCapture), stream, graph);
}

SIMRT_TWIN(cudaStreamIsCapturing, _ptsz, (cudaStream_t stream, cudaStreamCaptureStatus* status), (stream, status)) {
    SIMRT_FORWARD(PICK(cuStreamIsCapturing), stream, reinterpret_cast<CUstreamCaptureStatus*>(status));
}

SIMRT_API cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
    SIMRT_FORWARD(driver->cuThreadExchangeStreamCaptureMode, reinterpret_cast<CUstreamCaptureMode*>(mode));
}

// cudaStreamGetCaptureInfo has 3 arguments in cudart 12 and 7 in 13, where _v3 became the only form. The headers of
// either may be the ones at hand, so these are defined under names of their own and labelled for the linker.
#if SIMRT_VERSION >= 13000
#define CAPTURE_INFO "cudaStreamGetCaptureInfo"
#else
#define CAPTURE_INFO "cudaStreamGetCaptureInfo_v3"
#endif
#define CAPTURE_INFO_PARAMETERS                                                                         \
    (cudaStream_t stream, cudaStreamCaptureStatus * status, unsigned long long* id, cudaGraph_t* graph, \
     const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges, size_t* count)

SIMRT_API cudaError_t simrt_capture_info CAPTURE_INFO_PARAMETERS __asm__(CAPTURE_INFO);
SIMRT_API cudaError_t simrt_capture_info_ptsz CAPTURE_INFO_PARAMETERS __asm__(CAPTURE_INFO "_ptsz");

SIMRT_TWIN(simrt_capture_info, _ptsz, CAPTURE_INFO_PARAMETERS,
           (stream, status, id, graph, dependencies, edges, count)) {
    cuuint64_t sequence = 0;
    const simrt::Ready ready;
    if (ready.failed()) {
        return keep(ready.error);
    }
    const simrt::Driver* driver = ready.driver;
    const cudaError_t error =
        simrt::call(PICK(cuStreamGetCaptureInfo_v3), stream, reinterpret_cast<CUstreamCaptureStatus*>(status),
                    &sequence, graph, dependencies, reinterpret_cast<const CUgraphEdgeData**>(edges), count);
    if (id != nullptr) {
        *id = sequence;
    }
    return keep(error);
}

#if SIMRT_VERSION < 13000
#define OLD_PARAMETERS (cudaStream_t stream, cudaStreamCaptureStatus * status, unsigned long long* id)
SIMRT_API cudaError_t simrt_capture_info_v1 OLD_PARAMETERS __asm__("cudaStreamGetCaptureInfo");
SIMRT_API cudaError_t simrt_capture_info_v1_ptsz OLD_PARAMETERS __asm__("cudaStreamGetCaptureInfo_ptsz");
SIMRT_TWIN(simrt_capture_info_v1, _ptsz, OLD_PARAMETERS, (stream, status, id)) {
    return simrt_capture_info_body<per_thread>(stream, status, id, nullptr, nullptr, nullptr, nullptr);
}
#endif

// ---- events
SIMRT_API cudaError_t cudaEventCreate(cudaEvent_t* event) {
    SIMRT_FORWARD(driver->cuEventCreate, event, 0u);
}

SIMRT_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
    SIMRT_FORWARD(driver->cuEventCreate, event, flags);
}

SIMRT_API cudaError_t cudaEventDestroy(cudaEvent_t event) {
    SIMRT_FORWARD(driver->cuEventDestroy_v2, event);
}
SIMRT_API cudaError_t cudaEventQuery(cudaEvent_t event) {
    SIMRT_FORWARD(driver->cuEventQuery, event);
}
SIMRT_API cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    SIMRT_FORWARD(driver->cuEventSynchronize, event);
}

SIMRT_API cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    SIMRT_FORWARD(driver->cuEventElapsedTime, milliseconds, start, end);
}

SIMRT_TWIN(cudaEventRecord, _ptsz, (cudaEvent_t event, cudaStream_t stream), (event, stream)) {
    SIMRT_FORWARD(PICK(cuEventRecord), event, stream);
}

SIMRT_TWIN(cudaEventRecordWithFlags, _ptsz, (cudaEvent_t event, cudaStream_t stream, unsigned int flags),
           (event, stream, flags)) {
    SIMRT_FORWARD(PICK(cuEventRecordWithFlags), event, stream, flags);
}
