// SPDX-License-Identifier: Apache-2.0
//
// Two wrappers per row of symbols.def: the exported one, for calls by symbol, and the one that look-ups hand out.
#include <type_traits>

#include "exports.h"
#include "intercept.h"

namespace keepgraph::preload {

#define RUNTIME(symbol, handler, parameters, arguments)
#define KEEPGRAPH_UNPACK(...) __VA_ARGS__

// The handler of every row, one place where both wrappers meet. A null real function answers like a driver that was
// never initialised.
#define DRIVER(symbol, handler, need, parameters, arguments)                                                \
    template <class... Arguments>                                                                           \
    static CUresult call_##symbol(decltype(&::symbol) real, Arguments... passed) {                          \
        return real == nullptr ? CUDA_ERROR_NOT_INITIALIZED : intercept::handler(#symbol, real, passed...); \
    }
#include "symbols.def"
#undef DRIVER

namespace {
namespace wrapper {

#define DRIVER(symbol, handler, need, parameters, arguments)                                                         \
    CUresult symbol parameters {                                                                                     \
        return call_##symbol(reinterpret_cast<decltype(&::symbol)>(found(Row::symbol)), KEEPGRAPH_UNPACK arguments); \
    }                                                                                                                \
    static_assert(std::is_same_v<decltype(&symbol), decltype(&::symbol)>, #symbol ": wrapper and real types differ");
#include "symbols.def"
#undef DRIVER

}  // namespace wrapper
}  // namespace

void* handed_out(Row row) noexcept {
    static constexpr auto of = [](auto* function) { return reinterpret_cast<void*>(function); };
    switch (row) {
#define DRIVER(symbol, handler, need, parameters, arguments) \
    case Row::symbol:                                        \
        return of(&wrapper::symbol);
#include "symbols.def"
#undef DRIVER
        case Row::count:
            break;
    }
    return nullptr;
}

extern "C" {
#define DRIVER(symbol, handler, need, parameters, arguments)                                                        \
    __attribute__((visibility("default"))) CUresult symbol parameters {                                             \
        return call_##symbol(reinterpret_cast<decltype(&::symbol)>(next(Row::symbol)), KEEPGRAPH_UNPACK arguments); \
    }
#include "symbols.def"
#undef DRIVER
}

}  // namespace keepgraph::preload

__attribute__((constructor)) static void keepgraph_loaded() {
    keepgraph::session::loaded();
}

// Runs after the program's own exit handlers and destructors, which may still launch graphs and free memory.
__attribute__((destructor)) static void keepgraph_finish() {
    keepgraph::session::finish();
}
