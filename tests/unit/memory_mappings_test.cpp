// SPDX-License-Identifier: Apache-2.0
#include "memory/mappings.h"

#include <optional>
#include <utility>

#include "fake_driver.h"
#include "memory/allocation.h"

namespace keepgraph::memory {
namespace {

constexpr std::uintptr_t reservation = 0x7f0000000000;
constexpr std::size_t granule = 0x200000;

std::optional<std::pair<std::uintptr_t, std::size_t>> mapping_of(std::uintptr_t address) {
    std::pair<std::uintptr_t, std::size_t> found;
    if (find_mapping(address, found.first, found.second))
        return found;
    return std::nullopt;
}

class MemoryMappings : public unit_tests::OnFakeDriver {
  protected:
    ~MemoryMappings() override { note_unmapped(0, SIZE_MAX); }
};

TEST_F(MemoryMappings, AnAddressBelongsToTheMappingThatHoldsIt) {
    EXPECT_FALSE(mapping_of(reservation));
    note_mapped(reservation, granule);
    note_mapped(reservation + granule, 2 * granule);
    EXPECT_EQ(mapping_of(reservation + granule - 1), std::pair(reservation, granule));
    EXPECT_EQ(mapping_of(reservation + granule), std::pair(reservation + granule, 2 * granule));
    EXPECT_FALSE(mapping_of(reservation - 1));
    EXPECT_FALSE(mapping_of(reservation + 3 * granule));
}

TEST_F(MemoryMappings, UnmappingTakesWhatBeginsInTheRangeAndNoMore) {
    for (std::size_t i = 0; i < 4; ++i)
        note_mapped(reservation + i * granule, granule);
    note_unmapped(reservation + granule, 2 * granule);
    EXPECT_TRUE(mapping_of(reservation));
    EXPECT_FALSE(mapping_of(reservation + granule));
    EXPECT_FALSE(mapping_of(reservation + 2 * granule));
    EXPECT_TRUE(mapping_of(reservation + 3 * granule));
}

// The driver names the reservation as the range of each of them.
TEST_F(MemoryMappings, TwoMappingsInOneReservationAreTwoAllocations) {
    driver.memory = {{7, reservation, granule}, {8, reservation + granule, granule}};
    driver.range_of_all = {reservation, 2 * granule};
    note_mapped(reservation, granule);
    note_mapped(reservation + granule, granule);
    ScanCache cache;
    ASSERT_EQ(cache.find(reservation + 8), 0u);
    ASSERT_EQ(cache.find(reservation + granule + 8), 1u);
    EXPECT_EQ(cache.at(0).id, 7u);
    EXPECT_EQ(cache.at(0).size, granule);
    EXPECT_EQ(cache.at(1).id, 8u);
    EXPECT_EQ(cache.at(1).base, reservation + granule);
}

}  // namespace
}  // namespace keepgraph::memory
