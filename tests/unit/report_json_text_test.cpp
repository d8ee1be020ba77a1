// SPDX-License-Identifier: Apache-2.0
#include "report/json_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace keepgraph::report {
namespace {

TEST(JsonText, ValuesObjectsAndArraysReadBackAsTheyWere) {
    JsonText json;
    json.begin_object();
    json.member("text", "a \"quoted\" \\ line\n\tand \x01");
    json.member("null", nullptr);
    json.member("true", true);
    json.member("least", std::numeric_limits<std::int64_t>::min());
    json.member("most", std::numeric_limits<std::uint64_t>::max());
    json.key("list");
    json.begin_array();
    json.value(1);
    json.begin_array();
    json.end_array();
    json.begin_object();
    json.member("in", std::string("side"));
    json.end_object();
    json.raw("{\"made\":2}");
    json.end_array();
    json.key("empty");
    json.begin_object();
    json.end_object();
    json.end_object();
    const auto read = nlohmann::json::parse(json.text());
    EXPECT_EQ(read["text"], "a \"quoted\" \\ line\n\tand \x01");
    EXPECT_TRUE(read["null"].is_null());
    EXPECT_EQ(read["true"], true);
    EXPECT_EQ(read["least"], std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(read["most"], std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(read["list"], nlohmann::json::parse(R"([1, [], {"in": "side"}, {"made": 2}])"));
    EXPECT_EQ(read["empty"], nlohmann::json::object());
}

TEST(JsonText, EachValueAfterABreakStandsOnALineOfItsOwn) {
    JsonText json;
    json.begin_array();
    for (const int value : {1, 2}) {
        json.break_line();
        json.value(value);
    }
    json.end_array();
    EXPECT_EQ(json.text(), "[\n1,\n2]");
}

TEST(JsonText, WhatIsNoUtf8BecomesTheReplacementCharacter) {
    std::string text;
    append_string(text, "plain \xc3\xa4 \xff\xc3 end \xf0\x9f\x98\x80");
    EXPECT_EQ(text, "\"plain \xc3\xa4 \xef\xbf\xbd\xef\xbf\xbd end \xf0\x9f\x98\x80\"");
}

}  // namespace
}  // namespace keepgraph::report
