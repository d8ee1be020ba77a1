// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string_view>

#include "cli/commands.h"
#include "cli/target.h"

namespace keepgraph::cli {
namespace {

// CLI11 says "A subcommand is required" and lists words in the order in which it takes them, from the back.
std::string usage_error(const CLI::App& app, const std::vector<std::string>& words, const CLI::ParseError& error) {
    std::string commands;
    for (const CLI::App* command : app.get_subcommands({}))
        commands += (commands.empty() ? "" : ", ") + command->get_name();
    if (words.empty())
        return "no command is given; one of " + commands + " is needed";
    const CLI::App* const chosen = app.get_subcommands().empty() ? nullptr : app.get_subcommands().front();
    if (chosen == nullptr)
        return words[0] + " is no command; allowed are " + commands;
    const std::vector<std::string> left = app.remaining(true);
    if (!left.empty()) {
        const std::string first = left.back() + " is no option or argument of " + chosen->get_name();
        return chosen->get_name() == "run" || chosen->get_name() == "doctor"
                   ? first + "; a program and its arguments stand behind --"
                   : first;
    }
    return error.what();
}

int main_of(int argc, char** argv) {
    CLI::App app{"keepgraph keeps the graphs of CUDA programs and names a freed input before the replay.", "keepgraph"};
    app.set_version_flag("--version", "keepgraph " KEEPGRAPH_VERSION);
    app.footer(
        "Examples:\n"
        "  keepgraph run -- ./app arguments      findings on stderr, a recording in keepgraph-out\n"
        "  keepgraph show keepgraph-out          what was recorded, with function, file and line\n"
        "  keepgraph run --on-finding refuse --error-exitcode 9 -- python3 train.py\n"
        "  keepgraph doctor ./app                what will be seen of it\n"
        "`keepgraph COMMAND --help` says more. Settings: `keepgraph run --help` lists them,\n"
        "`keepgraph env --table` prints them as a table.");
    app.require_subcommand(1);
    int exit_code = 0;
    add_run(app, exit_code);
    add_env(app, exit_code);
    add_doctor(app, exit_code);
    add_show(app, exit_code);

    std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    if (!words.empty() && (words[0] == "run" || words[0] == "doctor")) {
        const auto mark = std::find(words.begin(), words.end(), "--");
        if (mark != words.end()) {
            program_line().assign(mark + 1, words.end());
            words.erase(mark, words.end());
        }
    }
    std::vector<std::string> reversed(words.rbegin(), words.rend());  // CLI11 takes them from the back
    try {
        app.parse(reversed);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0)  // help, version
            return app.exit(error);
        const auto chosen = app.get_subcommands();
        const std::string more = chosen.empty() ? "" : chosen.front()->get_name() + " ";
        std::fprintf(stderr, "keepgraph: %s\nMore: keepgraph %s--help\n", usage_error(app, words, error).c_str(),
                     more.c_str());
        return exit_usage;
    }
    return exit_code;
}

/// Of whoever reads the output: a full disk must not leave half a table and success.
int written(int exit_code) {
    errno = 0;
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0)
        return exit_code;
    std::fprintf(stderr, "keepgraph: standard output: %s\n", errno != 0 ? std::strerror(errno) : "write error");
    return exit_code != 0 ? exit_code : 1;
}

}  // namespace

}  // namespace keepgraph::cli

int main(int argc, char** argv) {
    try {
        return keepgraph::cli::written(keepgraph::cli::main_of(argc, argv));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "keepgraph: %s\n", error.what());
        return keepgraph::cli::exit_refused;
    }
}
