// SPDX-License-Identifier: Apache-2.0
#include "stack_functions.h"

// Call and __LINE__ must stand on one line: the line is what the test expects to find. The second call begins right
// where the first one returns to, so a look-up at the return address itself gives the wrong line.
#define SEE(calls, name) see(calls, name, __LINE__)

namespace {

[[gnu::noinline]] void see(std::vector<SeenCall>& calls, const char* name, int line) {
    calls.push_back({__builtin_return_address(0), name, line});
}

}  // namespace

extern "C" [[gnu::noinline]] void plain_function(std::vector<SeenCall>& calls) {
    SEE(calls, "plain_function");
    SEE(calls, "plain_function");
    asm volatile("");  // or the call would become a jump
}

namespace deep {

template <typename T>
[[gnu::always_inline]] inline void inlined_function(std::vector<SeenCall>& calls, T) {
    SEE(calls, "deep::inlined_function<int>");
}

[[gnu::noinline]] void outer_function(std::vector<SeenCall>& calls) {
    inlined_function(calls, 1);
    asm volatile("");
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
