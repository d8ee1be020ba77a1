// SPDX-License-Identifier: Apache-2.0
#include "cli/error_exitcode.h"

#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "cli/folder_watch.h"
#include "cli/out_folder.h"
#include "cli/run_record.h"
#include "cli/subprocess.h"
#include "config/out_pattern.h"
#include "config/settings.h"
#include "report/text.h"

namespace keepgraph::cli {
namespace {

// A program that leaves a thousand processes behind shall not fill the log.
constexpr std::size_t most_doubts = 5;

constexpr const char* more_help = "\nMore: keepgraph run --help";

bool checks_nothing() {
    std::vector<config::Problem> ignored;
    return !config::parse([](const char* name) { return std::getenv(name); }, ignored).check_inputs;
}

void say(const std::vector<std::string>& doubts) {
    for (std::size_t i = 0; i < std::min(doubts.size(), most_doubts); ++i) {
        std::fprintf(stderr, "keepgraph: %s\n", report::printable(doubts[i]).c_str());
    }
    if (doubts.size() > most_doubts) {
        std::fprintf(stderr, "keepgraph: and %zu more\n", doubts.size() - most_doubts);
    }
}

}  // namespace

// Which findings are of this run? OUT gets a folder that this run alone has: OUT is expanded once, for the command,
// the folder is made here and now, and each process of the run has its recording in it. Then every recording below it
// counts, however many processes there were, and nothing else does. Comparing what lies below OUT before and after
// would count the findings of another run that writes to the same place meanwhile, which on a build server is the
// rule; process ids cannot tell either, since the command never learns those of its grandchildren. A process that is
// still running when the program ends is not waited for: what it has found until then counts.
//
// A build server reads the exit code alone, so "no finding" has to mean that none was lost on the way: a recording that
// is not whole turns success into exit_refused. A program that failed by itself keeps its exit code, which says more.
int run_counting_findings(const Launch& launch, int code) {
    const std::string pattern = std::getenv("KEEPGRAPH_OUT");
    if (!config::valid_out(pattern)) {
        return refuse(exit_usage, "KEEPGRAPH_OUT=" + pattern +
                                      " is not allowed, and --error-exitcode reads from there" + more_help);
    }
    if (checks_nothing()) {
        return refuse(exit_usage, std::string("--error-exitcode with CHECK=off would never see a finding") + more_help);
    }
    // OUT is switched off: the recordings are made all the same, and do not stay.
    std::optional<TemporaryFolder> temporary;
    std::filesystem::path folder;
    std::optional<FolderWatch> watch;
    try {
        if (pattern.empty()) {
            folder = temporary.emplace().path();
        } else {
            folder = make_fresh_folder(pattern);
        }
        watch.emplace(folder);
    } catch (const std::runtime_error& error) {
        return refuse(exit_refused, std::string(needs_recording) + error.what());
    }
    const std::string out = literal_out(folder.native()) + "/%t-%h-%p";
    set_variable("KEEPGRAPH_OUT", out);
    Ended ended;
    try {
        ended = run_and_wait([&] { become(launch); });
    } catch (const std::system_error& error) {
        remove_unused(folder);
        return refuse(exit_refused, error.what());
    }
    // Whoever reads stderr may be gone, and a limit of file sizes is the command's too: the exit code counts.
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);

    RunRecord record = read_run(folder, out);
    const std::vector<std::string> lost = watch->losses();
    record.doubts.insert(record.doubts.begin(), lost.begin(), lost.end());
    watch.reset();
    remove_unused(folder);  // no process had a graph
    const std::string where = temporary ? "" : " in " + folder.native();
    temporary.reset();  // end_like() does not return, and a signal runs no destructor
    say(record.doubts);
    if (record.findings > 0) {
        std::fprintf(stderr, "keepgraph: %zu finding%s%s: exit code %d\n", record.findings,
                     record.findings == 1 ? "" : "s", where.c_str(), code);
        return code;
    }
    if (!record.doubts.empty() && ended.code == 0) {
        return refuse(exit_refused,
                      "the program ended well, but findings may be missing: exit code " + std::to_string(exit_refused));
    }
    end_like(ended);
}

}  // namespace keepgraph::cli
