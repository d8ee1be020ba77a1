// SPDX-License-Identifier: Apache-2.0
// What probes need before they can ask their question. A step that fails here ends the probe (its line says which).
#pragma once

#include <functional>

#include "probe.h"

namespace conformance {

/// For steps that are not the question: throws with the name of the step.
void must(CUresult code, const char* step);
#define MUST(call) conformance::must(call, #call)

CUcontext primary();
CUmodule kernels();  // the module of tests/programs/kernels.h
CUfunction kernel(const char* name);
/// The probe ended the primary context, and with it what probes share: the next one gets a process of its own. Said by
/// the probe, since a driver may follow a module that is gone when it is asked for it.
void context_ended();
bool has_context_ended();
extern const char* const ptx;

/// A stream that the legacy stream does not wait for, unless flags say otherwise. Destroyed at the end of the scope.
class Stream {
  public:
    explicit Stream(unsigned flags = CU_STREAM_NON_BLOCKING);
    ~Stream();
    Stream(const Stream&) = delete;
    operator CUstream() const { return handle_; }

  private:
    CUstream handle_ = nullptr;
};

class Event {
  public:
    Event();
    ~Event();
    Event(const Event&) = delete;
    operator CUevent() const { return handle_; }

  private:
    CUevent handle_ = nullptr;
};

/// Small device memory: floats.
class Buffer {
  public:
    explicit Buffer(size_t count = 64);
    ~Buffer();
    Buffer(const Buffer&) = delete;
    operator CUdeviceptr() const { return address_; }
    void free();  // early
    void set(float value);
    float first() const;

  private:
    CUdeviceptr address_ = 0;
    size_t count_;
};

/// Templates by hand: graph.fill(buffer, 1.0f) adds a kernel node.
class Graph {
  public:
    Graph();
    ~Graph();
    Graph(const Graph&) = delete;
    operator CUgraph() const { return handle_; }
    CUgraphNode fill(CUdeviceptr out, float value, CUgraphNode after = nullptr);
    CUgraphNode twice(CUdeviceptr in, CUdeviceptr out, CUgraphNode after = nullptr);
    CUgraphNode memset(CUdeviceptr out, unsigned value);
    CUgraphNode copy(CUdeviceptr to, CUdeviceptr from, size_t size);
    CUgraphNode empty(CUgraphNode after = nullptr);
    CUgraphNode child(CUgraph graph);

  private:
    CUgraph handle_ = nullptr;
};

class Exec {
  public:
    explicit Exec(CUgraph graph);
    ~Exec();
    Exec(const Exec&) = delete;
    operator CUgraphExec() const { return handle_; }
    /// Launches and waits; the first code that is not 0.
    CUresult run() const;

  private:
    CUgraphExec handle_ = nullptr;
};

struct FillParams {
    FillParams(CUdeviceptr out, float value, int n = 64) : out(out), value(value), n(n) {}
    CUdeviceptr out;
    float value;
    int n;
    void* pointers[3] = {&out, &value, &n};
};

CUDA_KERNEL_NODE_PARAMS kernel_params(CUfunction function, void** parameters);
CUDA_KERNEL_NODE_PARAMS_v1 kernel_params_v1(CUfunction function, void** parameters);
CUDA_MEMCPY3D copy_params(CUdeviceptr to, CUdeviceptr from, size_t size);
CUDA_MEMSET_NODE_PARAMS memset_params(CUdeviceptr out, unsigned value, size_t count);
CUresult launch_fill(CUstream stream, CUdeviceptr out, float value);

/// Runs on a thread of its own, with the primary context current, and waits for it.
void on_other_thread(const std::function<void()>& run);

void begin(CUstream stream, CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL);
/// Ends the capture; the graph, if any, is destroyed.
CUresult end(CUstream stream);

/// Ends a capture by `end_capture(stream)`, which gives no place for the graph.
template <class EndCapture>
void end_without_place(Out& out, EndCapture end_capture) {
    const Stream stream;
    begin(stream);
    out("code", end_capture(static_cast<CUstream>(stream)));
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    MUST(CU(cuStreamIsCapturing)(static_cast<CUstream>(stream), &status));
    out("status", status);
    out("end", end(stream));
}
size_t node_count(CUgraph graph);

}  // namespace conformance
