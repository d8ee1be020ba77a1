// SPDX-License-Identifier: Apache-2.0
#include "function.h"

SIM_EXPORT CUresult cuGetErrorName(CUresult error, const char** name) {
    SIM_ENTER_EARLY(cuGetErrorName);
    if (name == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *name = nullptr;
    switch (static_cast<int>(error)) {
#define ERROR(symbol, code, text) \
    case code:                    \
        *name = #symbol;          \
        return CUDA_SUCCESS;
#include "errors.def"
#undef ERROR
    }
    return CUDA_ERROR_INVALID_VALUE;
}

SIM_EXPORT CUresult cuGetErrorString(CUresult error, const char** string) {
    SIM_ENTER_EARLY(cuGetErrorString);
    if (string == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *string = nullptr;
    switch (static_cast<int>(error)) {
#define ERROR(symbol, code, text) \
    case code:                    \
        *string = text;           \
        return CUDA_SUCCESS;
#include "errors.def"
#undef ERROR
    }
    return CUDA_ERROR_INVALID_VALUE;
}
