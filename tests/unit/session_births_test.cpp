// SPDX-License-Identifier: Apache-2.0
// STACKS=all: where memory was allocated is known for as long as it lives, or a graph refers to it,
// and of the last that died.
#include <gtest/gtest.h>

#include <cstdlib>

#include "driver/api.h"
#include "fake_driver.h"
#include "session/session.h"
#include "session/state.h"

namespace keepgraph::session {
namespace {

using unit_tests::FakeDriver;

constexpr std::uintptr_t base = 0x7f0000000000;
constexpr std::size_t bytes = 0x1000;

void allocate(unsigned long long id, std::uintptr_t at) {
    FakeDriver::get().memory.push_back({id, at, bytes});
    born("cuMemAlloc_v2", at, bytes);
}

// One test, since a session begins once per process.
TEST(SessionBirths, GoWithTheMemory) {
    setenv("KEEPGRAPH_STACKS", "all", 1);
    start();
    auto& memory = FakeDriver::get().memory;
    const auto& births = current()->births;

    for (unsigned i = 0; i < 1000; ++i) {
        const std::uintptr_t at = base + i * bytes;
        allocate(i + 1, at);
        ASSERT_EQ(births.size(), 1u) << "a program at ever new addresses stays flat";
        void* const dying = freeing("cuMemFree_v2", at);
        memory.clear();
        freed("cuMemFree_v2", at, dying, true);
        ASSERT_EQ(births.size(), 0u);
    }

    allocate(2001, base);
    freed("cuMemFree_v2", base, freeing("cuMemFree_v2", base), false);
    EXPECT_EQ(births.size(), 1u) << "the free failed";
    freed("cuMemFreeAsync", base, freeing("cuMemFreeAsync", base), true);
    EXPECT_EQ(births.size(), 1u) << "the free was captured: the driver knows the memory";
    memory.clear();
    allocate(2002, base);
    freed("cuMemFree_v2", base, nullptr, true);
    ASSERT_EQ(births.size(), 1u) << "the address was given out before the free returned";
    EXPECT_EQ(births.begin()->second.id, 2002u);

    for (unsigned i = 1; i < 4; ++i)
        allocate(2002 + i, base + i * bytes);
    void* const dying = unmapping("cuMemUnmap", base + bytes, 2 * bytes);
    std::erase_if(memory, [](const auto& each) { return each.id == 2003 || each.id == 2004; });
    unmapped("cuMemUnmap", base + bytes, 2 * bytes, dying, true);
    ASSERT_EQ(births.size(), 2u) << "all in the range";
    EXPECT_EQ(births.begin()->second.id, 2002u);
    EXPECT_EQ(births.rbegin()->second.id, 2005u);

    for (const unsigned younger : {0u, 1000u}) {
        const std::uintptr_t at = base + 10 * bytes;
        allocate(3000 + younger, at);
        const driver::RelaxedCapture relaxed;
        memory::Allocation found;
        ASSERT_EQ(memory::identify(at, found), memory::Identity::known) << "by the scan of a graph";
        std::uintptr_t next = at;
        for (unsigned i = 0; i <= younger; ++i, next += bytes) {
            if (i > 0)
                allocate(5000 + i, next);
            void* const freeing_it = freeing("cuMemFree_v2", next);
            std::erase_if(memory, [next](const auto& each) { return each.base == next; });
            freed("cuMemFree_v2", next, freeing_it, true);
        }
        const Locked lock(*current());
        const TrackedPtr tracked = track(*current(), found);
        EXPECT_TRUE(tracked->dead);
        EXPECT_EQ(tracked->has_birth, younger == 0) << "after " << younger << " more that died";
        EXPECT_LE(current()->dead_births.size(), 1000u);
    }
    finish();
}

}  // namespace
}  // namespace keepgraph::session
