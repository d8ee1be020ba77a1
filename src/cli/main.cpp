// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>

#include "cli/commands.h"
#include "cli/target.h"

namespace keepgraph::cli {
namespace {

int main_of(int argc, char** argv) {
    CLI::App app{"keepgraph keeps the graphs of CUDA programs and names a freed input before the replay.", "keepgraph"};
    app.set_version_flag("--version", "keepgraph " KEEPGRAPH_VERSION);
    app.footer(
        "Examples:\n"
        "  keepgraph run -- ./app arguments      findings on stderr, a recording in keepgraph-out\n"
        "  keepgraph show keepgraph-out          what was recorded, with function, file and line\n"
        "  keepgraph run --on-finding refuse --error-exitcode 9 -- python3 train.py\n"
        "  keepgraph doctor ./app                what will be seen of it\n"
        "`keepgraph COMMAND --help` says more. Settings: `keepgraph run --help` lists them, `keepgraph env --table` "
        "prints them as a table.");
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
            program_line().given = true;
            program_line().words.assign(mark + 1, words.end());
            words.erase(mark, words.end());
        }
    }
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
    try {
        app.parse(words);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : exit_usage;
    }
    return exit_code;
}

}  // namespace

}  // namespace keepgraph::cli

int main(int argc, char** argv) {
    try {
        return keepgraph::cli::main_of(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "keepgraph: %s\n", error.what());
        return keepgraph::cli::exit_refused;
    }
}
