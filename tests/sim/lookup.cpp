// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress: base name, version and flags select one of the exported functions, and its exported address is what
// the caller gets, so that a look-up layer can compare pointers.
#include "lookup.h"

#include <cstring>

#include "function.h"

using namespace keepgraph::sim;

namespace {

/// The newest function that is not newer than the caller's version; per-thread ones win where they are asked for.
const sim_lookup_entry* select(const char* base, int version, bool per_thread, bool* known) {
    const sim_lookup_entry* best = nullptr;
    for (unsigned i = 0; i < sim_lookup_count; ++i) {
        const sim_lookup_entry& entry = sim_lookup_entries[i];
        if (std::strcmp(entry.base, base) != 0 || is_hidden(entry.exported) || entry.version > SIM_DRIVER_VERSION) continue;
        if (entry.per_thread && !per_thread) continue;
        *known = true;
        if (entry.version > version) continue;
        if (best == nullptr || entry.per_thread > best->per_thread ||
            (entry.per_thread == best->per_thread && entry.version >= best->version)) {
            best = &entry;
        }
    }
    return best;
}

CUresult look_up(const char* symbol, void** pfn, int version, cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
    if (symbol == nullptr || pfn == nullptr || version > SIM_DRIVER_VERSION) return CUDA_ERROR_INVALID_VALUE;
    if (flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) return CUDA_ERROR_INVALID_VALUE;
    *pfn = nullptr;
    bool known = false;
    const sim_lookup_entry* entry = select(symbol, version, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &known);
    if (status != nullptr) {
        *status = entry != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
                  : known          ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                   : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    }
    if (entry == nullptr) return CUDA_ERROR_NOT_FOUND;
    *pfn = reinterpret_cast<void*>(entry->address);
    return CUDA_SUCCESS;
}

}  // namespace

SIM_EXPORT CUresult cuGetProcAddress(const char* symbol, void** pfn, int version, cuuint64_t flags) {
    SIM_ENTER_EARLY(cuGetProcAddress);
    return look_up(symbol, pfn, version, flags, nullptr);
}

SIM_EXPORT CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int version, cuuint64_t flags,
                                        CUdriverProcAddressQueryResult* status) {
    SIM_ENTER_EARLY(cuGetProcAddress_v2);
    return look_up(symbol, pfn, version, flags, status);
}
