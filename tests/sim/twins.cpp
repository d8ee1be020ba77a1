// SPDX-License-Identifier: Apache-2.0
// The _ptsz and _ptds forms: the base function with the thread's own default stream.
#include "function.h"

#define TWIN(symbol, suffix, parameters, arguments) \
    SIM_EXPORT CUresult symbol##suffix parameters { \
        SIM_ENTER_EARLY(symbol##suffix);            \
        const ::keepgraph::sim::Twin twin;          \
        return symbol arguments;                    \
    }
#include "twins.def"
