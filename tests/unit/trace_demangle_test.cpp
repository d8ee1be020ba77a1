// SPDX-License-Identifier: Apache-2.0
#include "trace/demangle.h"

#include <gtest/gtest.h>

#include "own_stack.h"

namespace keepgraph::trace {
namespace {

using unit_tests::OwnStack;

/// f(foo::bar<int>, ...) with so many parameters: 13 characters each.
std::string name_of(int parameters) {
    std::string name = "_Z1f";
    for (int i = 0; i < parameters; ++i)
        name += "N3foo3barIiEE";
    return name;
}
bool is_whole(const std::string& text) {
    return text.rfind("f(foo::bar<int>, ", 0) == 0 && text.back() == ')';
}

TEST(TraceDemangle, NamesAreForPeople) {
    EXPECT_EQ(demangled("_Z8kg_twiceIfEvPKT_PS0_i"), "void kg_twice<float>(float const*, float*, int)");
    EXPECT_EQ(demangled("kg_scale"), "kg_scale");
    EXPECT_EQ(demangled("i"), "i") << "not the type int";
    EXPECT_EQ(demangled("_Z8kg_twiceIfEvPKT_P"), "_Z8kg_twiceIfEvPKT_P") << "cut in the middle";
    EXPECT_EQ(demangled(""), "");
}

TEST(TraceDemangle, LongNamesNeedNoMoreStackThanTheThreadHas) {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "ThreadSanitizer itself wants a megabyte of each thread's stack";
#endif
    const std::string longest_taken = name_of(78);
    ASSERT_TRUE(is_whole(demangled(longest_taken))) << "the demangler takes this one on a large stack";
    OwnStack stack(std::size_t{72} << 10);
    std::string on_thread, on_fibre;
    stack.run([&] { on_thread = demangled(longest_taken); });
    EXPECT_TRUE(is_whole(on_thread));
    stack.run_as_fibre([&] { on_fibre = demangled(longest_taken); });
    EXPECT_EQ(on_fibre, on_thread);
}

TEST(TraceDemangle, NamesThatAreTooLongStayAsTheyAre) {
    const std::string name = name_of(5000);
    EXPECT_EQ(demangled(name), name);
}

}  // namespace
}  // namespace keepgraph::trace
