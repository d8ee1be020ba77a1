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
    bool has_per_thread = false;
    for (unsigned i = 0; i < sim_lookup_count; ++i) {
        const sim_lookup_entry& entry = sim_lookup_entries[i];
        if (std::strcmp(entry.base, base) != 0 || is_hidden(entry.exported) || entry.version > SIM_DRIVER_VERSION)
            continue;
        if (entry.per_thread && !per_thread)
            continue;
        *known = true;
        has_per_thread = has_per_thread || entry.per_thread;
        if (entry.version > version)
            continue;
        if (best == nullptr || entry.per_thread > best->per_thread ||
            (entry.per_thread == best->per_thread && entry.version >= best->version)) {
            best = &entry;
        }
    }
    // A version older than the per-thread form finds nothing: there is no way back to the other form.
    return has_per_thread && best != nullptr && !best->per_thread ? nullptr : best;
}

constexpr cuuint64_t known_flags = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

CUresult look_up(const char* symbol, int version, cuuint64_t flags, void** address,
                 CUdriverProcAddressQueryResult* status) {
    // The real driver follows null pointers here; an error tells more about the caller.
    if (symbol == nullptr || version > SIM_DRIVER_VERSION || (flags & ~known_flags) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    bool known = false;
    const sim_lookup_entry* entry =
        select(symbol, version, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0, &known);
    *address = entry != nullptr ? reinterpret_cast<void*>(entry->address) : nullptr;
    *status = entry != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
              : known          ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                               : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return CUDA_SUCCESS;
}

}  // namespace

/// This form has no status, so not to find is an error, and what the caller had stays where it is.
SIM_EXPORT CUresult cuGetProcAddress(const char* symbol, void** pfn, int version, cuuint64_t flags) {
    SIM_ENTER_EARLY(cuGetProcAddress);
    if (pfn == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    void* address = nullptr;
    CUdriverProcAddressQueryResult status;
    if (const CUresult code = look_up(symbol, version, flags, &address, &status); code != CUDA_SUCCESS)
        return code;
    if (address == nullptr)
        return CUDA_ERROR_NOT_FOUND;
    *pfn = address;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int version, cuuint64_t flags,
                                        CUdriverProcAddressQueryResult* status) {
    SIM_ENTER_EARLY(cuGetProcAddress_v2);
    if (pfn == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    CUdriverProcAddressQueryResult unwanted;
    return look_up(symbol, version, flags, pfn, status != nullptr ? status : &unwanted);
}
