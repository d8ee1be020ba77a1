// SPDX-License-Identifier: Apache-2.0
// How sure a reference is, in the light of what its slot held in other graphs.
#include "fake_driver.h"
#include "liveness/scan.h"

namespace keepgraph::liveness {
namespace {

using config::Grade;
using unit_tests::FakeFunction;
using unit_tests::FakeGraph;

class LivenessGrade : public unit_tests::OnFakeDriver {
  protected:
    // a and b touch; c lies apart; nothing ever lived at `number`.
    static constexpr std::uintptr_t a = 0x7f0000001000, b = a + 0x100, c = 0x7f0000005000, number = 0x7f10000f0000;
    LivenessGrade() { driver.memory = {{1, a, 0x100}, {2, b, 0x100}, {3, c, 0x100}}; }

    /// A graph of one kernel. Its grades are asked for now and later.
    struct Graph {
        graph::Snapshot snapshot;
        Scan scan;
        std::vector<Grade> grades() const {
            std::vector<Grade> result;
            for (const Reference& reference : scan.references)
                result.push_back(grade_now(snapshot, reference));
            return result;
        }
    };
    template <class... Arguments>
    Graph graph_of(const Arguments&... arguments) {
        FakeGraph graph;
        graph.add_kernel(function, arguments...);
        graph::Snapshot snapshot = graph::Snapshot::read(graph.handle(), functions);
        Scan found = scan(snapshot, seen);
        return {std::move(snapshot), std::move(found)};
    }
    using Grades = std::vector<Grade>;
    static constexpr Grade likely = Grade::likely, possible = Grade::possible;

    graph::Functions functions;
    memory::Seen seen;
    FakeFunction function{"two", {{0, 8}, {8, 8}}};
};

TEST_F(LivenessGrade, SlotThatHeldANumberIsDoubtedFromThenOnAndBackwards) {
    const Graph first = graph_of(a, c);
    EXPECT_EQ(first.grades(), (Grades{likely, likely}));
    const Graph second = graph_of(a, number);
    EXPECT_EQ(second.grades(), (Grades{likely})) << "the number itself is no reference";
    EXPECT_EQ(first.grades(), (Grades{likely, possible}));
    EXPECT_EQ(graph_of(a, b).grades(), (Grades{likely, possible}));
}

TEST_F(LivenessGrade, SlotsOfAnotherKernelAreNotDoubted) {
    (void)graph_of(number, number);
    function.name = "other";
    functions.forget();
    EXPECT_EQ(graph_of(a, c).grades(), (Grades{likely, likely}));
}

TEST_F(LivenessGrade, NullPointerIsNoNumber) {
    (void)graph_of(std::uint64_t{0}, std::uint64_t{0});
    EXPECT_EQ(graph_of(a, c).grades(), (Grades{likely, likely}));
}

TEST_F(LivenessGrade, SmallNumberIsANumber) {
    (void)graph_of(std::uint64_t{5}, c);
    EXPECT_EQ(graph_of(a, c).grades(), (Grades{possible, likely}));
}

TEST_F(LivenessGrade, AddressOfMemoryThatDiedIsNoNumber) {
    (void)graph_of(a, c);
    driver.memory = {{2, b, 0x100}, {3, c, 0x100}};  // a was freed
    EXPECT_TRUE(graph_of(a, c).grades() == Grades{likely}) << "nothing lives at the first word any more";
    EXPECT_EQ(graph_of(c, b).grades(), (Grades{likely, likely}));
}

TEST_F(LivenessGrade, MemoryOfTheGraphItselfIsNoNumber) {
    FakeGraph graph;
    auto& allocated = graph.add(CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    allocated.allocated.dptr = number, allocated.allocated.bytesize = 0x100;
    graph.add_kernel(function, number, c);
    (void)scan(graph::Snapshot::read(graph.handle(), functions), seen);
    EXPECT_EQ(graph_of(a, c).grades(), (Grades{likely, likely}));
}

TEST_F(LivenessGrade, EndOfAnEarlierParametersMemoryIsPossible) {
    const Graph graph = graph_of(a, b);
    ASSERT_EQ(graph.scan.references.size(), 2u);
    EXPECT_FALSE(graph.scan.references[0].maybe_end);
    EXPECT_TRUE(graph.scan.references[1].maybe_end);
    EXPECT_EQ(graph.grades(), (Grades{likely, possible}));
}

TEST_F(LivenessGrade, EndOfALaterParametersMemoryIsNoEnd) {
    EXPECT_EQ(graph_of(b, a).grades(), (Grades{likely, likely})) << "an output allocated before an input is common";
}

TEST_F(LivenessGrade, EndOfAParameterOfAnotherTypeIsNoEnd) {
    function.name = "_Z3oddPKfPf";
    const Graph graph = graph_of(a, b);
    EXPECT_EQ(graph.grades(), (Grades{likely, likely}));
    EXPECT_TRUE(graph.scan.raised) << "and what other graphs hold there is no end either";
}

TEST_F(LivenessGrade, EndOfAParameterOfTheSameTypeIsPossible) {
    function.name = "_Z4evenPKfS0_";
    EXPECT_EQ(graph_of(a, b).grades(), (Grades{likely, possible}));
}

TEST_F(LivenessGrade, OnlyTheFirstByteBehindIsAnEnd) {
    EXPECT_EQ(graph_of(a, b + 8).grades(), (Grades{likely, likely}));
}

TEST_F(LivenessGrade, SlotThatStoodAloneOnceHoldsNoEnds) {
    const Graph first = graph_of(a, b);
    EXPECT_EQ(first.grades(), (Grades{likely, possible}));
    (void)graph_of(a, c);
    EXPECT_EQ(first.grades(), (Grades{likely, likely}));
}

TEST_F(LivenessGrade, EndOfAPartOfTheSameMemoryDoesNotStandAlone) {
    (void)graph_of(a, a + 0x80);
    EXPECT_EQ(graph_of(a, b).grades(), (Grades{likely, possible}))
        << "the end of a part of a buffer lies in the buffer, and says nothing of the slot";
}

TEST_F(LivenessGrade, NumberOutweighsHavingStoodAlone) {
    const Graph first = graph_of(a, c);
    (void)graph_of(a, number);
    EXPECT_EQ(first.grades(), (Grades{likely, possible}));
}

TEST_F(LivenessGrade, WordsOfAStructHaveSlotsOfTheirOwn) {
    struct Struct {
        std::uintptr_t words[3];
    };
    function.parameters = {{0, 8}, {8, 24}};
    (void)graph_of(a, Struct{{a, number, c}});
    EXPECT_EQ(graph_of(a, Struct{{a, c, c}}).grades(), (Grades{likely, likely, possible, likely}));
}

TEST_F(LivenessGrade, CopiesStayCertainWhateverKernelsHeld) {
    (void)graph_of(number, number);
    FakeGraph graph;
    graph.add_set(a);
    const graph::Snapshot snapshot = graph::Snapshot::read(graph.handle(), functions);
    const Scan found = scan(snapshot, seen);
    ASSERT_EQ(found.references.size(), 1u);
    EXPECT_EQ(grade_now(snapshot, found.references[0]), Grade::certain);
}

}  // namespace
}  // namespace keepgraph::liveness
