// SPDX-License-Identifier: Apache-2.0
// Which memory an address belongs to, where addresses change hands: several mappings in one reservation, addresses that
// become pageable memory, memory that is registered again.
#include <gtest/gtest.h>

#include "harness/on_double.h"
#include "harness/recording.h"

namespace keepgraph::preload_tests {
namespace {

std::uintptr_t number_in(const Json& text) {
    return std::stoull(text.get<std::string>(), nullptr, 16);
}

TEST(Addresses, MappingsOfOneReservationAreTheirOwn) {
    constexpr std::size_t mapping_bytes = 2097152;  // half of the reservation
    TempFolder folder;
    const Outcome outcome =
        expect_transparent({hostile("addresses"), "second"}, Conditions{}.with("KEEPGRAPH_OUT", folder / "recording"));
    const Summary summary = summary_or_fail(outcome);
    EXPECT_EQ(summary.findings, 1) << outcome.describe();
    EXPECT_EQ(summary.inputs, 3) << "two mappings and the output: " << outcome.describe();
    EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), "is about to use 2097152 bytes of device memory at "), 1u)
        << outcome.describe();
    const std::vector<Json> findings = Recording::only_one_in(folder.path()).findings();
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].at("kind"), "freed");
    EXPECT_EQ(findings[0].at("allocation").at("size"), mapping_bytes);
    ASSERT_EQ(findings[0].at("references").size(), 1u) << "the first mapping's is none of them";
    const Json& reference = findings[0].at("references")[0];
    EXPECT_EQ(reference.at("node"), 1);
    EXPECT_EQ(reference.at("offset"), 64) << "from the start of the mapping, not of the reservation";
    EXPECT_EQ(number_in(reference.at("address")) - number_in(findings[0].at("allocation").at("address")), 64u);
}

TEST(Addresses, SetThatRunsIntoASecondMappingUsesBoth) {
    TempFolder folder;
    const Outcome outcome =
        expect_transparent({hostile("addresses"), "across"}, Conditions{}.with("KEEPGRAPH_OUT", folder / "recording"));
    const Summary summary = summary_or_fail(outcome);
    EXPECT_EQ(summary.findings, 1) << outcome.describe();
    EXPECT_EQ(summary.inputs, 2) << outcome.describe();
    const std::vector<Json> findings = Recording::only_one_in(folder.path()).findings();
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].at("grade"), "certain");
    ASSERT_EQ(findings[0].at("references").size(), 1u);
    const Json& reference = findings[0].at("references")[0];
    EXPECT_EQ(reference.at("slot"), "dst");
    EXPECT_EQ(reference.at("offset"), 0) << "the first byte there that is set";
    EXPECT_EQ(reference.at("address"), findings[0].at("allocation").at("address"));
}

/// Large dead memory cannot be read, so it is told from pageable memory that took the addresses over.
TEST(Addresses, OfDeadMemoryAreKnownToAGraphThatIsMadeLater) {
    for (const char* way : {"managed_gone", "mapped_gone"}) {
        SCOPED_TRACE(way);
        const Outcome outcome = expect_transparent({hostile("addresses"), way}, Conditions{});
        const Summary summary = summary_or_fail(outcome);
        EXPECT_EQ(summary.graphs, 2) << outcome.describe();
        EXPECT_EQ(summary.findings, 1) << outcome.describe();
        EXPECT_EQ(count_lines_with(keepgraph_lines(outcome.err), "graph 2 is about to use 2097152 bytes of "), 1u)
            << outcome.describe();
    }
}

struct Healthy {
    const char* way;
    long graphs;
    long inputs;
};
void PrintTo(const Healthy& healthy, std::ostream* stream) {
    *stream << healthy.way;
}

class AddressesOfHealthyPrograms : public testing::TestWithParam<Healthy> {};

TEST_P(AddressesOfHealthyPrograms, AreNoFindings) {
    const Outcome outcome = expect_transparent({hostile("addresses"), GetParam().way},
                                               Conditions{}.with("KEEPGRAPH_ON_FINDING", "warn:possible"));
    const Summary summary = summary_or_fail(outcome);
    EXPECT_EQ(summary.findings, 0) << outcome.describe();
    EXPECT_EQ(summary.graphs, GetParam().graphs);
    EXPECT_EQ(summary.inputs, GetParam().inputs) << "no finding because something else was looked at";
}

// Pageable memory is no input: the second graph of `managed` and `mapped` has its output alone.
INSTANTIATE_TEST_SUITE_P(All, AddressesOfHealthyPrograms,
                         testing::Values(Healthy{"first", 1, 3}, Healthy{"managed", 2, 3}, Healthy{"mapped", 2, 3},
                                         Healthy{"registered", 2, 4}),
                         [](const auto& info) { return std::string(info.param.way); });

}  // namespace
}  // namespace keepgraph::preload_tests
