// SPDX-License-Identifier: Apache-2.0
#include "stack_functions.h"

// Call and __LINE__ must stand on one line: the line is what the test expects to find. What follows each call keeps it
// from becoming a jump.
#define SEE(calls, name) calls.push_back({return_address(), name, __LINE__})

namespace {

[[gnu::noinline]] void* return_address() {
    return __builtin_return_address(0);
}

}  // namespace

extern "C" [[gnu::noinline]] void plain_function(std::vector<SeenCall>& calls) {
    SEE(calls, "plain_function");
}

namespace deep {

template <typename T>
[[gnu::always_inline]] inline void inlined_function(std::vector<SeenCall>& calls, T) {
    SEE(calls, "deep::inlined_function<int>");
}

[[gnu::noinline]] void outer_function(std::vector<SeenCall>& calls) {
    inlined_function(calls, 1);
}

}  // namespace deep

/// The call is the last thing in the function: the address it returns to lies behind the function's end.
extern "C" [[noreturn, gnu::noinline]] void never_returns(std::vector<SeenCall>& calls);

extern "C" void collect_calls(std::vector<SeenCall>& calls) {
    plain_function(calls);
    deep::outer_function(calls);
    try {
        never_returns(calls);
    } catch (int) {
    }
}

namespace {

[[noreturn, gnu::noinline]] void see_and_throw(std::vector<SeenCall>& calls, int line) {
    calls.push_back({__builtin_return_address(0), "never_returns", line});
    throw 1;
}

}  // namespace

extern "C" void never_returns(std::vector<SeenCall>& calls) {
    see_and_throw(calls, __LINE__);
}
