// SPDX-License-Identifier: Apache-2.0
// F8: environments with several cudarts. A virtual environment has them in wheels (and renamed inside other wheels), a
// conda environment has one in its lib folder besides (harness/packages.h). Which one a module gets is the loader's
// affair: the run without the shim says it too.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "harness/on_double.h"
#include "harness/packages.h"
#include "harness/recording.h"

namespace keepgraph::preload_tests {
namespace {

namespace fs = std::filesystem;

using namespace packages;

/// A module, or (begins with "global:") a cudart that is opened for everybody; and the cudart that the module gets.
struct Opened {
    std::string what;
    int version = 0;
    std::string cudart;
};

struct Environment {
    const char* name;
    bool conda;
    std::vector<Opened> opened;
    std::string library_path;
    std::string host = "host";
};
void PrintTo(const Environment& environment, std::ostream* stream) {
    *stream << environment.name;
}

class Runtimes : public testing::TestWithParam<Environment> {};

TEST_P(Runtimes, EachCallGoesToItsModulesCudartAndTheFindingNamesIt) {
    const Layout layout(GetParam().conda);
    const TempFolder& folder = layout.folder;
    Conditions conditions;
    conditions.library_path = layout.driver();
    conditions.env = {{"KEEPGRAPH_OUT", folder / "recording"}};
    if (!GetParam().library_path.empty())
        conditions.library_path += ":" + (folder / GetParam().library_path);
    std::vector<std::string> args{folder / host(GetParam().host)};
    std::vector<std::string> told;
    std::vector<Opened> modules;
    for (const Opened& opened : GetParam().opened) {
        const std::string global = "global:";
        if (opened.what.rfind(global, 0) == 0) {
            args.push_back(global + (folder / opened.what.substr(global.size())));
            continue;
        }
        args.push_back(folder / module(opened.what));
        modules.push_back(opened);
        told.push_back("cudart " + std::to_string(opened.version) + " of " +
                       fs::canonical(folder / opened.cudart).string() + ": too large: 2, last error 2");
    }
    const Outcome outcome = expect_transparent(args, conditions);
    EXPECT_TRUE(outcome.ended_with(0)) << outcome.describe();
    std::vector<std::string> lines;
    for (const std::string& line : split_lines(outcome.out)) {
        std::smatch parts;
        if (std::regex_match(line, parts, std::regex("(cudart \\d+ of )(.*)(: too large.*)")))
            lines.push_back(parts.str(1) + fs::canonical(parts.str(2)).string() + parts.str(3));
    }
    std::vector<std::string> twice = told;
    twice.insert(twice.end(), told.begin(), told.end());
    EXPECT_EQ(lines, twice) << outcome.describe();

    const Recording recording = Recording::read(folder / "recording");
    const auto number = [](const Json& text) { return std::stoull(text.get<std::string>(), nullptr, 16); };
    const auto module_of = [&](const Json& frame) {
        for (const Json& module : recording.manifest.at("modules")) {
            if (number(frame) >= number(module.at("base")) && number(frame) < number(module.at("end")))
                return fs::weakly_canonical(module.at("path").get<std::string>()).string();
        }
        return std::string("no module");
    };
    const auto innermost = [&](const Json& stack) { return module_of(recording.stack(stack).at("frames").at(0)); };
    for (const Opened& module : modules) {
        const std::string path = fs::canonical(folder / module.cudart);
        size_t named = 0;
        for (const Json& listed : recording.manifest.at("modules")) {
            if (fs::weakly_canonical(listed.at("path").get<std::string>()) == path) {
                ++named;
                EXPECT_EQ(listed.at("build_id"), build_id_of(path));
                EXPECT_NE(listed.at("build_id"), "");
            }
        }
        EXPECT_EQ(named, 1u) << path;
    }
    ASSERT_EQ(recording.findings().size(), 1u) << outcome.describe();
    const Json finding = recording.findings()[0];
    EXPECT_EQ(finding.at("launch_runtime_call"), "cudaGraphLaunch");
    EXPECT_EQ(innermost(finding.at("launch_stack")), fs::canonical(folder / modules.front().cudart));
    EXPECT_EQ(finding.at("death").at("runtime_call"), "cudaFree");
    EXPECT_EQ(innermost(finding.at("death").at("stack")), fs::canonical(folder / modules.back().cudart));
    const std::vector<Json> captures = recording.of_type("capture");
    ASSERT_EQ(captures.size(), 1u);
    EXPECT_EQ(captures[0].at("begin_runtime_call"), "cudaStreamBeginCapture");
    EXPECT_EQ(innermost(captures[0].at("begin_stack")), fs::canonical(folder / modules.front().cudart));
}

INSTANTIATE_TEST_SUITE_P(
    Venv, Runtimes,
    testing::Values(
        Environment{"two_wheels", false, {{"wheel12", 12090, cudart12}, {"wheel13", 13000, cudart13}}, ""},
        Environment{"two_wheels_reversed", false, {{"wheel13", 13000, cudart13}, {"wheel12", 12090, cudart12}}, ""},
        Environment{"renamed_and_wheel", false, {{"renamed", 12010, cudart_renamed}, {"wheel12", 12090, cudart12}}, ""},
        Environment{"wheel_and_renamed", false, {{"wheel13", 13000, cudart13}, {"renamed", 12010, cudart_renamed}}, ""},
        // A name that is loaded is not looked for: the copy in torch/lib serves the module that has a run path to a
        // wheel.
        Environment{"opened_by_path",
                    false,
                    {{"global:" + cudart_of_torch}, {"wheel13", 13000, cudart13}, {"wheel12", 12040, cudart_of_torch}},
                    ""},
        // LD_LIBRARY_PATH comes before RUNPATH.
        Environment{"library_path",
                    false,
                    {{"wheel12", 12040, cudart_of_torch}, {"wheel13", 13000, cudart13}},
                    "lib/python3.11/site-packages/torch/lib"},
        // The program has a cudart of its own under another name. Its symbols are versioned as those of the wheel.
        Environment{"renamed_at_the_start",
                    false,
                    {{"wheel13", 13000, cudart13}, {"wheel12", 12010, cudart_renamed}},
                    "",
                    "host_renamed"}),
    [](const auto& info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Conda, Runtimes,
    testing::Values(
        Environment{"conda_and_wheel", true, {{"conda12", 12040, cudart_of_conda}, {"wheel13", 13000, cudart13}}, ""},
        Environment{"wheel_and_conda", true, {{"wheel13", 13000, cudart13}, {"conda12", 12040, cudart_of_conda}}, ""},
        // RPATH comes before LD_LIBRARY_PATH.
        Environment{"library_path",
                    true,
                    {{"conda12", 12040, cudart_of_conda}, {"wheel13", 13000, cudart13}},
                    "lib/python3.11/site-packages/nvidia/cuda_runtime/lib"},
        // Two files with the same name. The second one is opened for everybody, and so comes before the one that the
        // second module's list of needed libraries reaches, which is the first of that name.
        Environment{"same_name_twice",
                    true,
                    {{"conda12", 12040, cudart_of_conda}, {"global:" + cudart12}, {"wheel12", 12090, cudart12}},
                    ""}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace keepgraph::preload_tests
