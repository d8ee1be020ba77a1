// SPDX-License-Identifier: Apache-2.0
//
// The runtime functions of symbols.def. They note their name for the driver calls below and forward: everything that
// matters is seen where it reaches the driver, and forwarding keeps cudart's own error state. The real function is
// found for the calling module, because cudart may have been loaded RTLD_LOCAL (every Python extension) and two
// versions may live side by side.
#include "routes.h"
#include "rows.h"
#include "session/annotation.h"

namespace keepgraph::preload {

#define DRIVER(symbol, handler, need, parameters, arguments)
#define RUNTIME(symbol, handler, parameters, arguments)                                                         \
    extern "C" __attribute__((visibility("default"))) cudaError_t symbol parameters {                           \
        static constinit Routes routes;                                                                         \
        const auto real =                                                                                       \
            reinterpret_cast<cudaError_t(*) parameters>(routes.function(#symbol, __builtin_return_address(0))); \
        if (real == nullptr)                                                                                    \
            return cudaErrorInitializationError;                                                                \
        const char* const above = session::runtime_call;                                                        \
        session::runtime_call = #symbol;                                                                        \
        const cudaError_t result = real arguments;                                                              \
        session::runtime_call = above;                                                                          \
        return result;                                                                                          \
    }
#include "symbols.def"
#undef DRIVER
#undef RUNTIME

}  // namespace keepgraph::preload
