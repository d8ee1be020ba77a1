// SPDX-License-Identifier: Apache-2.0
//
// cudaGetDriverEntryPoint and ByVersion: the look-up that the driver gave this cudart, handed on to the program.
#include "runtime.h"

using simrt::keep;

namespace {

cudaError_t entry_point(const char* symbol, void** entry, int version, unsigned long long flags,
                        CUdriverProcAddressQueryResult* status, bool per_thread) {
    if (symbol == nullptr || entry == nullptr) {
        return keep(cudaErrorInvalidValue);
    }
    const simrt::Driver* driver = nullptr;
    const cudaError_t error = simrt::initialise(&driver);
    if (error != cudaSuccess) {
        return keep(error);
    }
    // "Default" means the stream semantics that the caller was compiled with, which only the twin's name tells.
    const cuuint64_t wanted = flags == 0 && per_thread ? 2 : flags;
    return keep(simrt::call(driver->look_up, symbol, entry, version, wanted, status));
}

}  // namespace

// ByVersion came with the headers of 12.5.
#define BY_NAME_PARAMETERS \
    (const char* symbol, void** entry, unsigned long long flags, CUdriverProcAddressQueryResult* status)
#define BY_VERSION_PARAMETERS                                                          \
    (const char* symbol, void** entry, unsigned int version, unsigned long long flags, \
     CUdriverProcAddressQueryResult* status)
SIMRT_API cudaError_t simrt_by_name BY_NAME_PARAMETERS __asm__("cudaGetDriverEntryPoint");
SIMRT_API cudaError_t simrt_by_name_ptsz BY_NAME_PARAMETERS __asm__("cudaGetDriverEntryPoint_ptsz");
SIMRT_API cudaError_t simrt_by_version BY_VERSION_PARAMETERS __asm__("cudaGetDriverEntryPointByVersion");
SIMRT_API cudaError_t simrt_by_version_ptsz BY_VERSION_PARAMETERS __asm__("cudaGetDriverEntryPointByVersion_ptsz");

SIMRT_TWIN(simrt_by_name, _ptsz, BY_NAME_PARAMETERS, (symbol, entry, flags, status)) {
    return entry_point(symbol, entry, SIMRT_VERSION, flags, status, per_thread);
}

SIMRT_TWIN(simrt_by_version, _ptsz, BY_VERSION_PARAMETERS, (symbol, entry, version, flags, status)) {
    return entry_point(symbol, entry, static_cast<int>(version), flags, status, per_thread);
}
