// SPDX-License-Identifier: Apache-2.0
// cudart under test, found as the driver is: RT(cudaMalloc)(&pointer, 256). Only in a RUNTIME_PROBE, before which it
// was started.
#pragma once

#include "driver.h"

#include <cuda_runtime_api.h>

// cuda_runtime_api.h declares the base names; the _ptsz forms are known from the rows alone.
#define DRIVER(...)
#define RUNTIME(symbol, handler, parameters, arguments) extern "C" cudaError_t symbol parameters;
#include "../../preload/symbols.def"
#undef DRIVER
#undef RUNTIME

namespace conformance {

void* look_up_runtime(const char* symbol);  // null: not exported

/// Makes cudart ready outside of any capture, and takes out the error that an earlier probe left. Says on stderr which
/// library is missing, once, and throws Missing.
void start_runtime();
/// There was a probe that needed cudart, and none was found.
bool runtime_is_missing();

void must(cudaError_t code, const char* step);

}  // namespace conformance

#define RT(symbol)                                                                                                 \
    ([] {                                                                                                          \
        static const auto function = reinterpret_cast<decltype(&::symbol)>(conformance::look_up_runtime(#symbol)); \
        return conformance::Call<decltype(&::symbol)>{#symbol, function};                                          \
    }())
