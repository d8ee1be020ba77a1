// SPDX-License-Identifier: Apache-2.0
#include "runtime.h"

SIMRT_API const char* cudaGetErrorName(cudaError_t error) {
    switch (error) {
#define ERROR(name, text) \
    case name:            \
        return #name;
#include "errors.def"
#undef ERROR
        default:
            return "unrecognized error code";
    }
}

SIMRT_API const char* cudaGetErrorString(cudaError_t error) {
    switch (error) {
#define ERROR(name, text) \
    case name:            \
        return text;
#include "errors.def"
#undef ERROR
        default:
            return "unrecognized error code";
    }
}
