// SPDX-License-Identifier: Apache-2.0
// keepgraph run: a program under the shim.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>

#include "cli/commands.h"
#include "cli/error_exitcode.h"
#include "cli/help.h"
#include "cli/launch.h"
#include "cli/out_folder.h"
#include "cli/setting_flags.h"

namespace keepgraph::cli {
namespace {

constexpr const char* usage = "usage: keepgraph run [options] -- PROGRAM [ARGUMENTS...]";

struct RunOptions {
    SettingFlags settings;
    int error_exitcode = 0;
};

void set_environment(const RunOptions& options, const Launch& launch) {
    std::optional<std::string> out;
    for (const auto& [name, value] : options.settings.given()) {
        if (name == "KEEPGRAPH_OUT") {
            out = value;
        } else {
            set_variable(name, value);
        }
    }
    if (!out && std::getenv("KEEPGRAPH_OUT") == nullptr) {
        out = default_out;
    }
    if (out) {
        try {
            set_variable("KEEPGRAPH_OUT", absolute_out(*out));
        } catch (const std::runtime_error& error) {
            if (options.error_exitcode != 0) {
                throw std::runtime_error(std::string(needs_recording) + error.what());
            }
            // The program runs where it is, so it has to run here: only the recording has no place.
            std::fprintf(stderr, "keepgraph: no recording: %s. Findings are on stderr only\n", error.what());
            set_variable("KEEPGRAPH_OUT", "");
        }
    }
    set_variable("LD_PRELOAD", launch.preload);
}

int run(const RunOptions& options) {
    if (program_line().empty()) {
        return refuse(exit_usage, std::string("no program is given\n") + usage + "\nMore: keepgraph run --help");
    }
    const Launch launch = prepare(program_line());
    if (launch.refusal) {
        return refuse(launch.refusal->code, launch.refusal->reason);
    }
    set_environment(options, launch);
    if (options.error_exitcode != 0) {
        return run_counting_findings(launch, options.error_exitcode);
    }
    become(launch);
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
    auto options = std::make_shared<RunOptions>();
    CLI::App* command = app.add_subcommand("run", "Run a program with the shim, libkeepgraph_preload.so, preloaded");
    set_help(*command, usage);
    options->settings.add_to(*command);
    command
        ->add_option(
            "--error-exitcode", options->error_exitcode,
            "End with N (1 to 255) when the recordings of the run hold a finding, else as the program ended. Waits for "
            "the program and passes signals on. 125 in place of 0 when findings may be missing, with the reason: a "
            "recording could not be made or read, or has no summary (events were lost, or its process ended by a "
            "signal or _exit). OUT then names one folder for the whole run, with a recording "
            "for each process in it. Default: off, the program takes the place of this command.")
        ->type_name("N")
        ->check(CLI::Range(1, 255).description(""));
    command->footer(
        std::string("Examples:\n"
                    "  keepgraph run -- ./app arguments\n"
                    "  keepgraph run --write graphs --stacks all --out /tmp/%p -- python3 train.py\n"
                    "OUT is ") +
        default_out +
        " unless --out or KEEPGRAPH_OUT say otherwise. Other variables that are set stay in force; a flag goes before "
        "its variable.\n"
        "Exit codes: the program's own; 2 wrong usage; 125 the program cannot run under the shim (setuid, file "
        "capabilities, static, another architecture, a glibc that is too old), there is no shim, or --error-exitcode "
        "has no "
        "recording to rely on; 126 not "
        "executable; 127 not found.\n"
        "KEEPGRAPH_LIB names the shim, or its folder, when it is neither in this build nor in this installation.");
    command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace keepgraph::cli
