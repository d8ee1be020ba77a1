// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/cuda_types.h"

namespace keepgraph::driver {

/// The driver functions of functions.def; null where the driver has none of that name.
struct Api {
#define FUNCTION(symbol) decltype(&::symbol) symbol = nullptr;
#include "driver/functions.def"
#undef FUNCTION
};

/// The functions found by load(); all null before it. Any thread.
const Api& api() noexcept;

/// Looks every function up with `find` and publishes them, all at once, in place of those of an earlier call. That is
/// for a libcuda that was unloaded and another that came: which of two loaded ones counts is the caller's choice.
void load(void* (*find)(void* context, const char* name), void* context) noexcept;

/// "CUDA_ERROR_INVALID_VALUE", or "CUresult 12345" for a code that the driver does not name. Any thread; the text lives
/// in the driver or, for unknown codes, in thread-local storage until the next call.
const char* result_name(CUresult result) noexcept;

/// Makes the calling thread's capture mode relaxed for its lifetime. Our own queries run under it: while any thread
/// captures in global mode, a call that the driver counts as unsafe would fail and kill that capture.
/// Never lives across a call of the program's: a cancelled thread would not run its destructor.
class RelaxedCapture {
  public:
    RelaxedCapture() noexcept {
        if (const auto exchange = api().cuThreadExchangeStreamCaptureMode)
            exchanged_ = exchange(&mode_) == CUDA_SUCCESS;
    }
    ~RelaxedCapture() {
        if (exchanged_)
            (void)api().cuThreadExchangeStreamCaptureMode(&mode_);
    }
    RelaxedCapture(const RelaxedCapture&) = delete;
    RelaxedCapture& operator=(const RelaxedCapture&) = delete;

  private:
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
    bool exchanged_ = false;
};

}  // namespace keepgraph::driver
