// SPDX-License-Identifier: Apache-2.0
// keepgraph env, and the settings table of the README.
#include <nlohmann/json.hpp>

#include "command.h"

namespace keepgraph::cli_tests {
namespace {

// Everything that a shell might trip over; allowed as an OUT pattern.
const std::string odd = "/tmp/it's \"a\" $HOME `x` \\ *;&|<>()\n!#~ \t%p";

TEST(Env, ShellLinesGiveTheVariablesBack) {
    const Outcome printed = keepgraph({"env", "--stacks", "all", "--out", odd}, {{"KEEPGRAPH_CHECK", "off"}});
    ASSERT_TRUE(printed.ended_with(0)) << printed.describe();
    preload_tests::Command shell;
    shell.args = {"/bin/sh", "-c", printed.out + "printf '%s\\n' \"$KEEPGRAPH_OUT\"; exec " + fake_app() + " env"};
    shell.env = {{"HOME", "/home"}};
    const Outcome outcome = preload_tests::run(shell);
    EXPECT_EQ(outcome.out.substr(0, odd.size()), odd) << printed.describe();
    EXPECT_EQ(variable(outcome, "LD_PRELOAD"), shim());
    EXPECT_EQ(variable(outcome, "KEEPGRAPH_STACKS"), "all");
    EXPECT_EQ(variable(outcome, "KEEPGRAPH_CHECK"), "off");
}

TEST(Env, PlainValuesNeedNoQuotesAndPreloadsAreChained) {
    const std::string other = program("libfake_getxattr.so");
    const Outcome outcome = keepgraph({"env", "--check=all"}, {{"LD_PRELOAD", other}});
    EXPECT_EQ(outcome.out, "export LD_PRELOAD=" + shim() + ":" + other + "\nexport KEEPGRAPH_CHECK=all\n");
    // Nothing but what was given: OUT is a default of run.
    EXPECT_EQ(keepgraph({"env"}).out, "export LD_PRELOAD=" + shim() + "\n");
}

void expect_words_of(const std::string& format, const std::string& flag) {
    const Outcome printed = keepgraph({"env", "--format", format, "--out", odd});
    ASSERT_TRUE(printed.ended_with(0)) << printed.describe();
    preload_tests::Command shell;
    shell.args = {"/bin/sh", "-c", "exec " + fake_app() + " args " + printed.out};
    const Outcome outcome = preload_tests::run(shell);
    EXPECT_EQ(outcome.out, "[" + flag + "]\n[LD_PRELOAD=" + shim() + "]\n[" + flag + "]\n[KEEPGRAPH_OUT=" + odd + "]\n")
        << printed.describe();
}

TEST(Env, DockerAndMpirunTakeTheWords) {
    expect_words_of("docker", "-e");
    expect_words_of("mpirun", "-x");
}

TEST(Env, ContainersGetNoPreloadOfThisMachine) {
    const Environment other{{"LD_PRELOAD", program("libfake_getxattr.so")}};
    EXPECT_EQ(keepgraph({"env", "--format", "docker"}, other).out, "-e LD_PRELOAD=" + shim() + "\n");
    EXPECT_EQ(keepgraph({"env", "--format", "k8s"}, other).out, "- name: LD_PRELOAD\n  value: \"" + shim() + "\"\n");
}

TEST(Env, KubernetesValuesAreYamlAndNotExpanded) {
    const Outcome outcome = keepgraph({"env", "--format", "k8s", "--out", "/a \"b\"\t$(HOME) $$ $x:%p"});
    const std::vector<std::string> lines = split_lines(outcome.out);
    ASSERT_EQ(lines.size(), 4u) << outcome.describe();
    EXPECT_EQ(lines[2], "- name: KEEPGRAPH_OUT");
    const std::string key = "  value: ";
    ASSERT_EQ(lines[3].substr(0, key.size()), key);
    // A JSON string is a YAML string.
    EXPECT_EQ(nlohmann::json::parse(lines[3].substr(key.size())), "/a \"b\"\t$$(HOME) $$$$ $$x:%p");
}

TEST(Env, BadFlagsAndAMissingShim) {
    EXPECT_TRUE(keepgraph({"env", "--stacks", "some"}).ended_with(2));
    EXPECT_TRUE(keepgraph({"env", "--format", "cmd"}).ended_with(2));
    const Outcome outcome = keepgraph({"env"}, {{"KEEPGRAPH_LIB", "/nowhere.so"}});
    EXPECT_TRUE(outcome.ended_with(125)) << outcome.describe();
    EXPECT_EQ(outcome.out, "");
}

TEST(Env, WarnsOfInheritedValuesThatNoFlagReplaces) {
    const Environment bad{{"KEEPGRAPH_STACKS", "some"}, {"KEEPGRAPH_STAKCS", "all"}};
    const std::string unknown = "keepgraph: KEEPGRAPH_STAKCS is no setting of this version: ignored; ";
    const Outcome kept = keepgraph({"env"}, bad);
    EXPECT_TRUE(kept.ended_with(0)) << kept.describe();
    const std::vector<std::string> lines = split_lines(kept.err);
    ASSERT_EQ(lines.size(), 2u) << kept.describe();
    EXPECT_EQ(lines[0].rfind("keepgraph: KEEPGRAPH_STACKS=some is not allowed: use ", 0), 0u) << kept.describe();
    EXPECT_EQ(lines[1].rfind(unknown, 0), 0u) << kept.describe();
    const Outcome replaced = keepgraph({"env", "--stacks", "all"}, bad);
    ASSERT_EQ(split_lines(replaced.err).size(), 1u) << replaced.describe();
    EXPECT_EQ(replaced.err.rfind(unknown, 0), 0u) << replaced.describe();
    EXPECT_EQ(keepgraph({"env"}, {{"KEEPGRAPH_STACKS", "all"}, {"KEEPGRAPH_LIB", shim()}}).err, "");
}

TEST(Env, UsageErrorsPointToTheHelpOfTheirCommand) {
    const auto last_line = [](std::vector<std::string> words) {
        const std::vector<std::string> lines = split_lines(keepgraph(std::move(words)).err);
        return lines.empty() ? "" : lines.back();
    };
    for (const std::string command : {"run", "env", "doctor", "show"}) {
        EXPECT_EQ(last_line({command, "--no-such-option"}), "More: keepgraph " + command + " --help");
    }
    EXPECT_EQ(last_line({"run", "--stacks", "some", "--", "/bin/true"}), "More: keepgraph run --help");
    EXPECT_EQ(last_line({"run", "--error-exitcode", "9", "--check", "off", "--", "/bin/true"}),
              "More: keepgraph run --help");
    EXPECT_EQ(last_line({"doctor", "--coverage"}), "More: keepgraph doctor --help");
    EXPECT_EQ(last_line({"no-command"}), "More: keepgraph --help");
}

TEST(Env, TableIsThatOfTheReadme) {
    const std::string readme = preload_tests::read_file(preload_tests::source_folder() + "/README.md");
    const std::string begin = "<!-- settings: keepgraph env --table -->\n";
    const std::string end = "<!-- end of settings -->\n";
    ASSERT_NE(readme.find(begin), std::string::npos);
    ASSERT_NE(readme.find(end), std::string::npos);
    const std::size_t at = readme.find(begin) + begin.size();
    EXPECT_EQ(readme.substr(at, readme.find(end) - at), keepgraph({"env", "--table"}).out);
}

}  // namespace
}  // namespace keepgraph::cli_tests
