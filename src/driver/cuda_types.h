// SPDX-License-Identifier: Apache-2.0
//
// The one place that includes cuda.h. Unsuffixed driver names are macros whose meaning changes between CUDA 12 and
// 13 (cuGraphGetEdges is _v1 in one and _v2 in the other), so keepgraph speaks of versioned names only; this switch
// makes cuda.h declare all of them, the _ptsz forms too, and map none.
#pragma once

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>

static_assert(CUDA_VERSION >= 12040, "keepgraph needs cuda.h of CUDA 12.4 or newer");
