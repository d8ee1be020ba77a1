// SPDX-License-Identifier: Apache-2.0
//
// The rows of symbols.def as numbers, and the real functions behind them.
#pragma once

#include <cuda_runtime_api.h>

#include "driver/cuda_types.h"

namespace keepgraph::preload {

enum class Row : unsigned {
#define DRIVER(symbol, handler, need, parameters, arguments) symbol,
#define RUNTIME(symbol, handler, parameters, arguments)
#include "symbols.def"
#undef DRIVER
#undef RUNTIME
    count
};

/// The driver's function of a row for a wrapper that was handed out by a look-up: exactly the pointer that was asked
/// for. Null when no libcuda with it was seen.
void* found(Row row) noexcept;

/// The function that a call by symbol would have reached without us: the next preloaded library's if there is one, else
/// the driver's. Null when there is none.
void* next(Row row) noexcept;

/// What to hand out in place of `pointer`, which a look-up of `name` gave: our wrapper when it is a row's real
/// function, else `pointer`. The name only decides whether it is worth looking; the pointer selects.
void* swap(const char* name, void* pointer) noexcept;

/// The real dlsym, for our own look-ups.
void* real_dlsym(void* handle, const char* name) noexcept;

}  // namespace keepgraph::preload
