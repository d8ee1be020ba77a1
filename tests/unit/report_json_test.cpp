// SPDX-License-Identifier: Apache-2.0
// What our JSON values write, as nlohmann-json reads it.
#include "report/json.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <new>
#include <nlohmann/json.hpp>
#include <string>

#include "no_memory.h"

namespace keepgraph::report {
namespace {

using Parsed = nlohmann::ordered_json;
using unit_tests::failing_requests;

Json everything() {
    Json json{{"null", nullptr}, {"yes", true}, {"text", "a text that is too long for the string's own buffer"}};
    json["most"] = std::numeric_limits<std::uint64_t>::max();
    json["least"] = std::numeric_limits<std::int64_t>::min();
    json["list"] = {1u, -2, "three", Json::array(), Json::object()};
    json["inner"]["deep"] = {{"a", 1}, {"b", {{"c", "d"}}}};
    return json;
}
Parsed everything_parsed() {
    return Parsed::parse(R"({"null": null, "yes": true, "text": "a text that is too long for the string's own buffer",
        "most": 18446744073709551615, "least": -9223372036854775808, "list": [1, -2, "three", [], {}],
        "inner": {"deep": {"a": 1, "b": {"c": "d"}}}})");
}

TEST(ReportJson, IsReadBackInItsOrder) {
    EXPECT_EQ(Parsed::parse(everything().dump()), everything_parsed());
    EXPECT_EQ(everything().dump(), everything_parsed().dump());
}

TEST(ReportJson, IndentsAsNlohmannDoes) {
    EXPECT_EQ(everything().dump(1), everything_parsed().dump(1));
    EXPECT_EQ(Json().dump(1), "null");
    EXPECT_EQ(Json::object().dump(1), "{}");
}

TEST(ReportJson, ListsOfPairsAreObjectsOnlyWhenEachHasAName) {
    EXPECT_EQ((Json{{"a", 1}, {"b", 2}}).dump(), R"({"a":1,"b":2})");
    EXPECT_EQ((Json{{"a", 1}, {2, 3}}).dump(), R"([["a",1],[2,3]])");
    EXPECT_EQ((Json{{"a", 1}, {"b", 2, 3}}).dump(), R"([["a",1],["b",2,3]])");
    EXPECT_EQ((Json{1u, 2u, 3u}).dump(), "[1,2,3]");
}

TEST(ReportJson, MembersAreReplacedErasedAndTakenOver) {
    Json json{{"a", 1}, {"b", 2}};
    json["a"] = "new";
    json.update({{"b", 3}, {"c", 4}});
    json.erase("none");
    EXPECT_EQ(json.dump(), R"({"a":"new","b":3,"c":4})");
    json.erase("b");
    EXPECT_EQ(json.dump(), R"({"a":"new","c":4})");
    EXPECT_FALSE(json.empty());
    json.erase("a");
    json.erase("c");
    EXPECT_TRUE(json.empty());
    EXPECT_TRUE(json.is_object());
    EXPECT_FALSE(Json().is_object());
    Json list;
    list.push_back({{"a", 1}});
    list.push_back("b");
    EXPECT_EQ(list.dump(), R"([{"a":1},"b"])");
}

TEST(ReportJson, StringsAreEscapedAndAlwaysUtf8) {
    const std::string good = "quote \" backslash \\ tab \t line \n bell \a zero " + std::string(1, '\0') +
                             " e \xc3\xa9 euro \xe2\x82\xac clef \xf0\x9d\x84\x9e last \xf4\x8f\xbf\xbf";
    EXPECT_EQ(Parsed::parse(Json(good).dump()).get<std::string>(), good);
    const std::string instead = "\xef\xbf\xbd";
    for (const std::string bad : {"\x80", "\xc3", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                  "\xf5\x80\x80\x80", "\xff", "\xe2\x82", "\xf0\x9d\x84"}) {
        const auto read = Parsed::parse(Json("a" + bad + "b").dump()).get<std::string>();
        std::string expected = "a";
        for (std::size_t i = 0; i < bad.size(); ++i)
            expected += instead;
        EXPECT_EQ(read, expected + "b");
    }
}

TEST(ReportJson, TimesHaveMicroseconds) {
    EXPECT_EQ(Json(0.0).dump(), "0.000000");
    EXPECT_EQ(Json(1.5).dump(), "1.500000");
    EXPECT_EQ(Json(-0.25).dump(), "-0.250000");
    EXPECT_EQ(Json(1234567.0000019).dump(), "1234567.000002");
    EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).dump(), "null");
    EXPECT_EQ(Json(std::numeric_limits<double>::quiet_NaN()).dump(), "null");
}

TEST(ReportJson, NothingIsAllocatedToDestroyOrMove) {
    const long before = failing_requests.made;
    {
        Json json = everything();
        const long built = failing_requests.made;
        EXPECT_GT(built, before);
        Json moved = std::move(json);
        json = std::move(moved);
        EXPECT_EQ(failing_requests.made, built);
        failing_requests = {built, built + 1, true};
    }
    EXPECT_EQ(failing_requests.made, failing_requests.first - 1);
    failing_requests = {};
}

TEST(ReportJson, ACopyThatFailsHalfWayLeavesNothing) {
    const Json whole = everything();
    failing_requests = {};
    {
        const Json copy = whole;
        EXPECT_EQ(copy.dump(), whole.dump());
    }
    failing_requests = {};
    { const Json copy = whole; }
    const long requests = failing_requests.made;
    ASSERT_GT(requests, 5);
    for (long first = 1; first <= requests; ++first) {
        bool thrown = false;
        failing_requests = {0, first, false};
        try {
            const Json copy = whole;
        } catch (const std::bad_alloc&) {
            thrown = true;
        }
        failing_requests = {};
        EXPECT_TRUE(thrown) << first;
    }
}

}  // namespace
}  // namespace keepgraph::report
