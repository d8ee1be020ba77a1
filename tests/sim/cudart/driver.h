// SPDX-License-Identifier: Apache-2.0
//
// The driver as this cudart found it: one pointer per entry point of lookups.def that the double calls.
#pragma once

#include "driver/cuda_types.h"

namespace simrt {

struct Driver {
#define SLOT(base, version, decl) decltype(&::decl) decl;
#define SLOT_PTSZ(base, version, decl) decltype(&::decl) decl##_ptsz;
#define ASKED(base, version, flags)
#include "lookups.def"
#undef SLOT
#undef SLOT_PTSZ
#undef ASKED
    decltype(&::cuInit) cuInit;
    decltype(&::cuGetProcAddress_v2) look_up;
};

// Opens libcuda and asks for everything at the first call, as the real one does; null when there is no libcuda.
const Driver* driver();

}  // namespace simrt
