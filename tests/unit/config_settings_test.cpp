// SPDX-License-Identifier: Apache-2.0
// The settings table: every row, malformed values, unknown variables.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <stdexcept>

#include "config/settings.h"

namespace keepgraph::config {
namespace {

using Variables = std::map<std::string, std::string>;

Settings parsed(const Variables& variables, std::vector<Problem>& problems) {
    return parse(
        [&](const char* name) {
            const auto it = variables.find(name);
            return it == variables.end() ? nullptr : it->second.c_str();
        },
        problems);
}

Settings parsed(const Variables& variables) {
    std::vector<Problem> problems;
    Settings settings = parsed(variables, problems);
    EXPECT_TRUE(problems.empty()) << to_text(problems.at(0));
    return settings;
}

const Row& row_of(const std::string& name) {
    for (const Row& row : settings_table()) {
        if (name == row.name) {
            return row;
        }
    }
    throw std::runtime_error("no row " + name);
}

struct Value {
    const char* row;
    const char* text;
};

// At least two values for each row, and not the default alone.
const std::vector<Value> good_values{
    {"CHECK", "inputs"},
    {"CHECK", "off"},
    {"ON_FINDING", "warn:possible"},
    {"ON_FINDING", "refuse:certain"},
    {"ON_FINDING", "abort:likely"},
    {"KEEP", "off,max=256M"},
    {"KEEP", "data,max=0"},
    {"KEEP", "data,max=1000"},
    {"KEEP", "data,max=3T"},
    {"OUT", "/a b/%t-%h-%p-%r-%%"},
    {"OUT", "x"},
    {"WRITE", "findings"},
    {"WRITE", "graphs"},
    {"WRITE", "none"},
    {"WRITE", "findings,graphs,driver-dot"},
    {"STACKS", "none"},
    {"STACKS", "events"},
    {"STACKS", "all"},
    {"OPTIONS", "log=off"},
    {"OPTIONS", "log=trace,out_max=1K,quiet=1,coverage=1"},
};

TEST(SettingsTest, FindingsThatAreNotShownAreNamedWithTheSettingThatShowsThem) {
    EXPECT_EQ(not_shown_text(0, 0), "");
    EXPECT_EQ(not_shown_text(2, 0), ", 2 likely not shown (KEEPGRAPH_ON_FINDING=warn:likely)");
    EXPECT_EQ(not_shown_text(0, 1), ", 1 possible not shown (KEEPGRAPH_ON_FINDING=warn:possible)");
    EXPECT_EQ(not_shown_text(2, 1), ", 2 likely and 1 possible not shown (KEEPGRAPH_ON_FINDING=warn:possible)");
}

TEST(SettingsTest, PrintGivesBackWhatParseTook) {
    std::map<std::string, int> seen;
    for (const Value& value : good_values) {
        const Row& row = row_of(value.row);
        Settings settings;
        ASSERT_TRUE(row.parse(value.text, settings)) << value.row << "=" << value.text;
        EXPECT_EQ(row.print(settings), value.text) << value.row;
        ++seen[value.row];
    }
    for (const Row& row : settings_table()) {
        EXPECT_GE(seen[row.name], 2) << row.name << " has too few values in this test";
    }
}

TEST(SettingsTest, DefaultsOfTheTableAreThoseOfTheStruct) {
    std::set<std::string> names;
    for (const Row& row : settings_table()) {
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
        EXPECT_EQ(row.print(Settings{}), row.default_text) << row.name;
        Settings settings;
        if (*row.default_text != '\0') {
            EXPECT_TRUE(row.parse(row.default_text, settings)) << row.name;
        }
        EXPECT_EQ(settings, Settings{}) << row.name;
        EXPECT_NE(std::string(row.allowed), "") << row.name;
        EXPECT_NE(std::string(row.help), "") << row.name;
    }
}

TEST(SettingsTest, EachValueChangesItsOwnMembers) {
    EXPECT_FALSE(parsed({{"KEEPGRAPH_CHECK", "off"}}).check_inputs);
    EXPECT_TRUE(parsed({{"KEEPGRAPH_CHECK", "all"}}).check_inputs);
    const Settings refuse = parsed({{"KEEPGRAPH_ON_FINDING", "refuse:certain"}});
    EXPECT_EQ(refuse.on_finding, OnFinding::refuse);
    EXPECT_EQ(refuse.threshold, Grade::certain);
    EXPECT_EQ(parsed({{"KEEPGRAPH_ON_FINDING", "abort"}}).threshold, Grade::likely);
    const Settings keep = parsed({{"KEEPGRAPH_KEEP", "off,max=2k"}});
    EXPECT_EQ(keep.keep, Keep::off);
    EXPECT_EQ(keep.keep_max, 2048u);
    EXPECT_EQ(parsed({{"KEEPGRAPH_KEEP", "data"}}).keep_max, 256u << 20);
    EXPECT_EQ(parsed({{"KEEPGRAPH_OUT", "a/%p"}}).out, "a/%p");
    const Settings nothing = parsed({{"KEEPGRAPH_WRITE", "none"}});
    EXPECT_FALSE(nothing.write_findings || nothing.write_graphs || nothing.write_driver_dot);
    const Settings write = parsed({{"KEEPGRAPH_WRITE", "driver-dot,graphs"}});
    EXPECT_FALSE(write.write_findings);
    EXPECT_TRUE(write.write_graphs && write.write_driver_dot);
    EXPECT_EQ(parsed({{"KEEPGRAPH_STACKS", "all"}}).stacks, Stacks::all);
    const Settings options = parsed({{"KEEPGRAPH_OPTIONS", "quiet=1,log=debug,coverage=1,out_max=5M"}});
    EXPECT_TRUE(options.quiet && options.coverage);
    EXPECT_EQ(options.log, LogLevel::debug);
    EXPECT_EQ(options.out_max, 5u << 20);
}

TEST(SettingsTest, MalformedValuesLeaveEverythingAsItWas) {
    const std::vector<Value> bad{
        {"CHECK", "everything"},
        {"CHECK", "INPUTS"},
        {"CHECK", "off "},
        {"CHECK", ""},
        {"ON_FINDING", "explode"},
        {"ON_FINDING", "warn:"},
        {"ON_FINDING", ":likely"},
        {"ON_FINDING", "warn:surely"},
        {"ON_FINDING", "warn:likely:likely"},
        {"KEEP", "forever"},
        {"KEEP", "data,"},
        {"KEEP", "data,max"},
        {"KEEP", "data,max="},
        {"KEEP", "data,min=1"},
        {"KEEP", "data,max=1,max=2"},
        {"OUT", "%q"},
        {"OUT", "%"},
        {"WRITE", "poems"},
        {"WRITE", "none,graphs"},
        {"WRITE", "findings,"},
        {"WRITE", ",findings"},
        {"WRITE", "findings,,graphs"},
        {"STACKS", "some"},
        {"OPTIONS", "log=loud"},
        {"OPTIONS", "log"},
        {"OPTIONS", "=1"},
        {"OPTIONS", "quiet=2"},
        {"OPTIONS", "quiet=true"},
        {"OPTIONS", "quiet=1,"},
        {"OPTIONS", "quiet=1,poem=1"},
        {"OPTIONS", "coverage="},
    };
    for (const Value& value : bad) {
        Settings settings;
        settings.keep_max = 12345;
        settings.quiet = false;
        settings.write_graphs = true;
        const Settings before = settings;
        EXPECT_FALSE(row_of(value.row).parse(value.text, settings)) << value.row << "=" << value.text;
        EXPECT_EQ(settings, before) << value.row << "=" << value.text;
    }
}

TEST(SettingsTest, SizesHaveUnitsAndAnEnd) {
    const std::map<std::string, std::uint64_t> good{
        {"0", 0},
        {"1", 1},
        {"1023", 1023},
        {"1k", 1024},
        {"7M", 7ull << 20},
        {"2G", 2ull << 30},
        {"1t", 1ull << 40},
        {"000012", 12},
        {"18446744073709551615", 18446744073709551615ull},
        {"16777215T", 16777215ull << 40},
    };
    for (const auto& [text, size] : good) {
        EXPECT_EQ(parsed({{"KEEPGRAPH_OPTIONS", "out_max=" + text}}).out_max, size) << text;
    }
    for (const char* bad : {"", "M", "-1", "+1", " 1", "1 ", "1MB", "0x10", "1.5M", "1e3", "18446744073709551616",
                            "99999999999999999999", "16777216T", "18014398509481984K"}) {
        std::vector<Problem> problems;
        const Settings settings = parsed({{"KEEPGRAPH_OPTIONS", std::string("out_max=") + bad}}, problems);
        EXPECT_EQ(problems.size(), 1u) << bad;
        EXPECT_EQ(settings, Settings{}) << bad;
    }
}

TEST(SettingsTest, ProblemsNameVariableValueAllowedAndDefault) {
    std::vector<Problem> problems;
    const Settings settings =
        parsed({{"KEEPGRAPH_STACKS", "sometimes"}, {"KEEPGRAPH_CHECK", "off"}, {"KEEPGRAPH_OUT", "%q"}}, problems);
    EXPECT_FALSE(settings.check_inputs);
    EXPECT_EQ(settings.stacks, Stacks::events);
    ASSERT_EQ(problems.size(), 2u);
    EXPECT_EQ(to_text(problems[1]),
              "KEEPGRAPH_STACKS=sometimes is not allowed: use none, events or all; using the default, events");
    EXPECT_EQ(problems[0].name, "KEEPGRAPH_OUT");
    EXPECT_NE(to_text(problems[0]).find("using the default, nothing"), std::string::npos);
}

TEST(SettingsTest, EmptyMeansTheDefault) {
    Variables all;
    for (const Row& row : settings_table()) {
        all[variable_name(row)] = "";
    }
    EXPECT_EQ(parsed(all), Settings{});
}

TEST(SettingsTest, ValuesInMessagesAreShortAndPrintable) {
    std::vector<Problem> problems;
    parsed({{"KEEPGRAPH_CHECK", "a\x1b[31m\n\x7f" + std::string(1000, 'x')}}, problems);
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].value.substr(0, 8), "a?[31m??");
    EXPECT_LT(problems[0].value.size(), 210u);
}

TEST(SettingsTest, GetThatThrowsGivesDefaults) {
    std::vector<Problem> problems;
    const Settings settings = parse([](const char*) -> const char* { throw std::runtime_error("no"); }, problems);
    EXPECT_EQ(settings, Settings{});
}

TEST(SettingsTest, UnknownVariablesAreNamed) {
    const char* environment[] = {"PATH=/bin",
                                 "KEEPGRAPH_STAKCS=all",
                                 "KEEPGRAPH_STACKS=all",
                                 "KEEPGRAPH_=1",
                                 "KEEPGRAPH_LIB=/x",
                                 "KEEPGRAPH_SIM_SEED=1",
                                 "KEEPGRAPH_TEST_X=1",
                                 "KEEPGRAPH_ODD",
                                 "XKEEPGRAPH_OTHER=1",
                                 "KEEPGRAPH_STACKS2=all",
                                 nullptr};
    std::vector<Problem> problems;
    find_unknown(environment, problems);
    std::vector<std::string> names;
    for (const Problem& problem : problems) {
        names.push_back(problem.name);
    }
    EXPECT_EQ(names, (std::vector<std::string>{"KEEPGRAPH_STAKCS", "KEEPGRAPH_", "KEEPGRAPH_STACKS2"}));
    const std::string text = to_text(problems.at(0));
    EXPECT_NE(text.find("KEEPGRAPH_STAKCS is no setting"), std::string::npos) << text;
    for (const Row& row : settings_table()) {
        EXPECT_NE(text.find(variable_name(row)), std::string::npos) << text;
    }
    find_unknown(nullptr, problems);
    EXPECT_EQ(problems.size(), 3u);
}

TEST(SettingsTest, NamesOfVariablesAndFlags) {
    EXPECT_EQ(variable_name(row_of("ON_FINDING")), "KEEPGRAPH_ON_FINDING");
    EXPECT_EQ(flag_name(row_of("ON_FINDING")), "on-finding");
    EXPECT_STREQ(to_string(Grade::certain), "certain");
    EXPECT_STREQ(to_string(OnFinding::refuse), "refuse");
    EXPECT_STREQ(to_string(LogLevel::off), "off");
}

}  // namespace
}  // namespace keepgraph::config
