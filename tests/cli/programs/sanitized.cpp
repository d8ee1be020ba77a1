// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <thread>
#include <vector>

int main(int argc, char**) {
    std::vector<int> numbers(static_cast<std::size_t>(argc) * 1000, argc);
    std::thread([&] { numbers[10] += 1; }).join();
    std::printf("sum %d\n", numbers[10]);
    return numbers[10] == argc + 1 ? 7 : 1;
}
