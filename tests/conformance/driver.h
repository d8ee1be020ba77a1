// SPDX-License-Identifier: Apache-2.0
// The driver under test, reached by dlopen and dlsym alone: the same program runs on the double and on a GPU. The same
// for cudart is in runtime.h.
//
//   CU(cuMemAlloc_v2)(&pointer, 256)
//
// calls the exported function of exactly this name and notes the call with its code, so that the coverage check at the
// end can tell which functions were seen to succeed and which to fail.
#pragma once

#include <stdexcept>
#include <string>

#include "driver/cuda_types.h"

namespace conformance {

struct Missing : std::runtime_error {
    using std::runtime_error::runtime_error;
};

void* look_up(const char* symbol);  // null: not exported
void note(const char* symbol, bool succeeded);

/// CUresult and cudaError_t: 0 is success in both.
template <class Function>
struct Call {
    const char* symbol;
    Function function;

    template <class... Arguments>
    auto operator()(Arguments... arguments) const {
        if (function == nullptr)
            throw Missing(symbol);
        const auto code = function(arguments...);
        note(symbol, code == 0);
        return code;
    }
};

}  // namespace conformance

// The static variable belongs to the lambda, so there is one look-up per place of use.
#define CU(symbol)                                                                                         \
    ([] {                                                                                                  \
        static const auto function = reinterpret_cast<decltype(&::symbol)>(conformance::look_up(#symbol)); \
        return conformance::Call<decltype(&::symbol)>{#symbol, function};                                  \
    }())
