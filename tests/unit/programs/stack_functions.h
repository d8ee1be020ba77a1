// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

struct SeenCall {
    void* return_address;
    const char* function;
    int line;
};

extern "C" void collect_calls(std::vector<SeenCall>& calls);
