// SPDX-License-Identifier: Apache-2.0
#include "report/text.h"

#include <gtest/gtest.h>

namespace keepgraph::report {
namespace {

TEST(TextTest, ShortNamesAreWhatAReaderKnowsAFunctionBy) {
    EXPECT_EQ(short_name("_Z5scalePfi"), "scale");
    EXPECT_EQ(short_name("void at::native::kernel<4, std::array<int, 2> >(int, float*)"), "at::native::kernel");
    EXPECT_EQ(short_name("(anonymous namespace)::work(int)"), "(anonymous namespace)::work");
    EXPECT_EQ(short_name("bool ns::operator<(ns::A const&, ns::A const&)"), "ns::operator<");
    EXPECT_EQ(short_name("ns::F::operator()(int) const"), "ns::F::operator()");
    EXPECT_EQ(short_name("main::{lambda(int)#1}::operator()(int) const"), "main::{lambda}::operator()");
    EXPECT_EQ(short_name("plain_c"), "plain_c");
    EXPECT_EQ(short_name("made up by a program"), "made up by a program");
    EXPECT_EQ(short_name("_Znonsense"), "_Znonsense");
    EXPECT_EQ(short_name("("), "(");
    EXPECT_EQ(short_name(""), "");
}

TEST(TextTest, NothingThatControlsATerminalStays) {
    EXPECT_EQ(printable("a\033[31mb\n\x7f"), "a\\x1b[31mb\\x0a\\x7f");
    EXPECT_EQ(printable("\xc2\x9b"
                        "1m"),
              "\\x9b1m");  // CSI as one C1 character
    EXPECT_EQ(printable("\xe2\x80\xae"
                        "x"),
              "\\u202ex");  // right-to-left override
    EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
    EXPECT_EQ(printable("gr\xc3\xbc\xc3\x9f \xe6\xbc\xa2"), "gr\xc3\xbc\xc3\x9f \xe6\xbc\xa2");
}

TEST(TextTest, Utf8IsToldFromOtherBytes) {
    EXPECT_TRUE(is_utf8("a\xc3\xa9\xf0\x9f\x98\x80"));
    for (const char* bad : {"\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80", "\xf8\x88\x80\x80\x80"})
        EXPECT_FALSE(is_utf8(bad));
    EXPECT_EQ(repair_utf8("a\xff"
                          "b"),
              "a\xef\xbf\xbd"
              "b");
    EXPECT_TRUE(is_utf8(repair_utf8("\xe2\x82\xf0\x9f")));
}

TEST(TextTest, CuttingKeepsWholeCharacters) {
    EXPECT_EQ(cut_end("abcdef", 6), "abcdef");
    EXPECT_EQ(cut_end("abcdefg", 6), "abc...");
    EXPECT_EQ(cut_end("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 4), "\xc3\xa9...");
    EXPECT_EQ(cut_middle("0123456789abcdef", 12), "012...abcdef");
    EXPECT_EQ(cut_end("abc", 0), "");
    EXPECT_EQ(columns("\xc3\xa9x"), 2u);
}

}  // namespace
}  // namespace keepgraph::report
