// SPDX-License-Identifier: Apache-2.0
// keepgraph env: what `run` would set, for whatever else starts programs.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/preload.h"
#include "cli/quote.h"
#include "cli/setting_flags.h"
#include "cli/target.h"
#include "config/settings.h"

namespace keepgraph::cli {
namespace {

struct EnvOptions {
    SettingFlags settings;
    std::string format = "shell";
    bool table = false;
};

using Variable = std::pair<std::string, std::string>;

void print(const std::string& format, const std::vector<Variable>& variables) {
    std::string text;
    for (const auto& [name, value] : variables) {
        const std::string gap = text.empty() ? "" : " ";
        if (format == "shell") {
            text += "export " + name + "=" + shell_word(value) + "\n";
        } else if (format == "docker") {
            text += gap + "-e " + shell_word(name + "=" + value);
        } else if (format == "mpirun") {
            text += gap + "-x " + shell_word(name + "=" + value);
        } else {
            text += "- name: " + name + "\n  value: " + k8s_value(value) + "\n";
        }
    }
    std::fputs(text.c_str(), stdout);
    if (text.back() != '\n') {
        std::fputc('\n', stdout);
    }
}

/// Of the values that go on to the program, and of names that no version knows. `run` leaves this to the shim, which
/// says it in the program once CUDA starts: here the reader of what is printed may be a container's manifest, whose
/// programs start elsewhere and later.
void warn_of_inherited(const std::vector<Variable>& given) {
    std::vector<config::Problem> problems;
    config::parse(
        [&](const std::string& name) -> const char* {
            const bool replaced =
                std::any_of(given.begin(), given.end(), [&](const Variable& flag) { return flag.first == name; });
            return replaced ? nullptr : std::getenv(name.c_str());
        },
        problems);
    config::find_unknown(environ, problems);
    for (const config::Problem& problem : problems) {
        std::fprintf(stderr, "keepgraph: %s\n", config::to_text(problem).c_str());
    }
}

int print_environment(const EnvOptions& options) {
    const Shim shim = find_shim();
    if (shim.path.empty()) {
        std::fprintf(stderr, "keepgraph: %s\n", shim.problem.c_str());
        return exit_refused;
    }
    // A container has preloads of its own, if any: this machine's would not be there.
    const bool same_machine = options.format == "shell" || options.format == "mpirun";
    std::vector<Variable> variables{
        {"LD_PRELOAD", preload_chain({}, shim.path, same_machine ? std::getenv("LD_PRELOAD") : nullptr)}};
    const std::vector<Variable> given = options.settings.given();
    for (const config::Row& row : config::settings_table()) {
        const std::string name = config::variable_name(row);
        const char* value = std::getenv(name.c_str());
        for (const Variable& flag : given) {
            value = flag.first == name ? flag.second.c_str() : value;
        }
        if (value != nullptr) {
            variables.emplace_back(name, value);
        }
    }
    warn_of_inherited(given);
    print(options.format, variables);
    return 0;
}

}  // namespace

void add_env(CLI::App& app, int& exit_code) {
    auto options = std::make_shared<EnvOptions>();
    CLI::App* command = app.add_subcommand("env", "Print the variables that put a program under the shim");
    set_help(*command, "usage: keepgraph env [options]");
    options->settings.add_to(*command);
    command
        ->add_option("--format", options->format,
                     "shell (export lines for eval), docker (-e ...), k8s (YAML entries of a container's env) or "
                     "mpirun (-x ...). Default: shell.")
        ->type_name("FORMAT")
        ->check(CLI::IsMember({"shell", "docker", "k8s", "mpirun"}));
    command->add_flag("--table", options->table, "Print the settings as a Markdown table instead");
    command->footer(
        "Examples:\n"
        "  eval \"$(keepgraph env --stacks all)\"; ./app\n"
        "  mpirun -n 2 $(keepgraph env --format mpirun --out /tmp/rank-%r) ./app\n"
        "Prints LD_PRELOAD, the settings given as flags and those that are set already. Unlike run it sets no OUT of "
        "its own, does not know the program, and so puts no sanitizer first.\n"
        "Paths are those of this machine: a container needs the shim at the same path. A value with blanks or quotes "
        "is quoted for a shell, which $(...) alone does not undo.");
    command->callback([options, &exit_code] {
        if (options->table) {
            std::fputs(settings_markdown().c_str(), stdout);
        } else {
            exit_code = print_environment(*options);
        }
    });
}

}  // namespace keepgraph::cli
