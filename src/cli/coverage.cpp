// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <set>

#include "cli/doctor.h"
#include "cli/events.h"
#include "cli/launch.h"
#include "cli/out_folder.h"
#include "cli/subprocess.h"

namespace keepgraph::cli {
namespace {

using Names = std::set<std::string>;

void take(const nlohmann::json& event, const char* key, Names& into) {
    const auto names = event.find(key);
    if (names == event.end() || !names->is_array()) {
        return;
    }
    for (const nlohmann::json& name : *names) {
        if (name.is_string()) {
            into.insert(name.get<std::string>());
        }
    }
}

}  // namespace

int report_coverage(const std::vector<std::string>& words) {
    const Launch launch = prepare(words);
    if (launch.refusal) {
        return refuse(launch.refusal->code, launch.refusal->reason);
    }
    const TemporaryFolder folder;
    const char* options = std::getenv("KEEPGRAPH_OPTIONS");
    // quiet: the closing line would name the folder, which does not stay.
    const std::string wanted = "coverage=1,quiet=1";
    set_variable("KEEPGRAPH_OPTIONS",
                 options != nullptr && *options != '\0' ? std::string(options) + "," + wanted : wanted);
    set_variable("KEEPGRAPH_OUT", literal_out(folder.path().native()) + "/%t-%h-%p");
    set_variable("LD_PRELOAD", launch.preload);
    std::fflush(stdout);
    const Ended ended = run_and_wait([&] { become(launch); });

    Names wrapped;
    Names unwrapped;
    std::size_t processes = 0;
    const std::size_t recordings = for_each_event(folder.path(), "coverage", [&](const nlohmann::json& event) {
        ++processes;
        take(event, "wrapped", wrapped);
        take(event, "unwrapped", unwrapped);
    });
    say("program", ended.signal > 0 ? "ended by signal " + std::to_string(ended.signal)
                                    : "ended with exit code " + std::to_string(ended.code));
    if (processes == 0) {
        say("coverage", recordings == 0 ? "unknown: no process made a recording (none of them initialised CUDA "
                                          "through the shim)"
                                        : "unknown: no process of the program ended in order");
        return 1;
    }
    say("coverage", std::to_string(processes) + (processes == 1 ? " process" : " processes") +
                        "; look-ups handed out " + std::to_string(wrapped.size()) +
                        " driver functions with a wrapper, " + std::to_string(unwrapped.size()) + " without");
    // One per line with its key in front, as everything that doctor has several of: for grep, and for a diff of two
    // runs.
    for (const std::string& name : wrapped)
        say("wrapped", name);
    for (const std::string& name : unwrapped)
        say("unwrapped", name);
    return 0;
}

}  // namespace keepgraph::cli
