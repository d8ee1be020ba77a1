// SPDX-License-Identifier: Apache-2.0
// Runs probes and prints a line for each. Exit: 0; 1 when a row of symbols.def lacks a probe of each kind, a probe
// broke its promise, killed the process or needed a cudart that is not here; 2 for wrong arguments; 77 (skipped, for
// test runners) without a driver or a device.
#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>

#include "fixture.h"
#include "runtime.h"

namespace conformance {
namespace {

struct Seen {
    bool success = false, error = false;
};

// Calls may come from the threads that probes start.
std::mutex seen_mutex;
std::map<std::string, Seen> seen_in_this_probe;

constexpr const char* rows[] = {
#define DRIVER(symbol, ...) #symbol,
#define RUNTIME(symbol, ...) #symbol,
#include "../../preload/symbols.def"
#undef DRIVER
#undef RUNTIME
};

bool ends_with(const std::string& text, std::string_view end) {
    return text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string run_one(const Probe& probe) {
    Out out;
    try {
        if (probe.needs == Needs::runtime)
            start_runtime();
        seen_in_this_probe.clear();  // of what was called to get here
        probe.run(out);
    } catch (const Missing& missing) {
        out("missing", missing.what());
    } catch (const std::exception& failed) {
        out.text += std::string(" FAILED: ") + failed.what();
    }
    return out.text;
}

/// A probe that is named after a function says what it promises: `.success` or `.error`.
bool keeps_its_promise(const Probe& probe) {
    for (const bool success : {true, false}) {
        const std::string_view kind = success ? ".success" : ".error";
        if (!ends_with(probe.name, kind))
            continue;
        const Seen& seen = seen_in_this_probe[probe.name.substr(0, probe.name.size() - kind.size())];
        return success ? seen.success : seen.error;
    }
    return true;
}

bool check_rows() {
    std::set<std::string> names;
    for (const Probe& probe : probes())
        names.insert(probe.name);
    bool complete = true;
    for (const char* row : rows) {
        for (const char* kind : {".success", ".error"}) {
            if (names.count(std::string(row) + kind) != 0)
                continue;
            std::fprintf(stderr, "conformance: no probe %s%s, although symbols.def has this row\n", row, kind);
            complete = false;
        }
    }
    return complete;
}

bool start() {
    if (look_up("cuInit") == nullptr) {
        std::fprintf(stderr, "conformance: no libcuda.so.1 here\n");
        return false;
    }
    if (const CUresult code = CU(cuInit)(0u); code != CUDA_SUCCESS) {
        std::fprintf(stderr, "conformance: cuInit gave %d\n", code);
        return false;
    }
    MUST(CU(cuCtxSetCurrent)(primary()));
    kernels();
    // Before any capture: the first use of a function may load code, which is no business of the probes.
    const Buffer buffer;
    MUST(launch_fill(nullptr, buffer, 0));
    MUST(CU(cuCtxSynchronize)());
    return true;
}

/// Where the runner is, seen by the process that watches it.
struct Progress {
    std::atomic<size_t> next;  // the first probe that was not begun yet
    std::atomic<int> result;   // 1: a promise was broken
};
static_assert(std::atomic<size_t>::is_always_lock_free);

/// What a child may take before its first probe: the driver starts, kernels are loaded.
constexpr std::chrono::seconds start_limit{60};

enum Verdict { finished = 0, spoilt = 3, no_driver = 77 };

/// Runs probes from progress->next on. Ends early, with `spoilt`, when a probe left something behind that the next one
/// would take for its own: a fresh process goes on then.
int run_from(const std::vector<const Probe*>& chosen, Progress* progress) {
    if (!start())
        return no_driver;
    while (progress->next < chosen.size()) {
        const Probe& probe = *chosen[progress->next++];
        const std::string text = run_one(probe);
        std::printf("%s:%s\n", probe.name.c_str(), text.c_str());
        std::fflush(stdout);
        if (!keeps_its_promise(probe)) {
            std::fprintf(stderr, "conformance: %s does not do what its name says\n", probe.name.c_str());
            progress->result = 1;
        }
        if (runtime_is_missing())
            progress->result = 1;
        if (has_context_ended())
            return spoilt;
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
        CU(cuThreadExchangeStreamCaptureMode)(&mode);
        CU(cuCtxSetCurrent)(primary());
        if (const CUresult code = CU(cuCtxSynchronize)(); code != CUDA_SUCCESS) {
            std::fprintf(stderr, "conformance: after %s the context gives %d, going on in a new process\n",
                         probe.name.c_str(), code);
            return spoilt;
        }
    }
    return finished;
}

/// The end of the child, or nothing when one probe (or the start) took longer than `limit`: the child is killed then.
/// One that does not die of that waits inside the kernel for a GPU that does not answer; it is left behind, since an
/// alarm in the child, or a wait for its end, would hang with it.
std::optional<int> watch(pid_t child, const Progress& progress, std::chrono::seconds limit) {
    using Clock = std::chrono::steady_clock;
    auto deadline = Clock::now() + limit + start_limit;
    size_t begun = progress.next;
    for (bool killed = false;;) {
        int status = 0;
        const pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child && !killed)
            return status;
        if (ended != 0 || (killed && Clock::now() > deadline))
            return std::nullopt;
        if (const size_t now = progress.next; !killed && now != begun) {
            begun = now;
            deadline = Clock::now() + limit;
        }
        if (!killed && Clock::now() > deadline) {
            kill(child, SIGKILL);
            killed = true;
            deadline = Clock::now() + std::chrono::seconds(5);
        }
        usleep(2000);
    }
}

/// The driver may crash in a probe (it follows some null pointers), or hang: the probes run in a child, and one that
/// dies costs its own line only. The library is first opened in the child, since CUDA does not survive a fork.
int run_all(const std::string& filter, std::chrono::seconds limit) {
    if (!check_rows())
        return 1;
    std::vector<const Probe*> chosen;
    for (const Probe& probe : probes()) {
        if (probe.name.find(filter) != std::string::npos)
            chosen.push_back(&probe);
    }
    auto* progress = static_cast<Progress*>(
        mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    if (progress == MAP_FAILED)
        return 1;
    progress->next = 0;
    progress->result = 0;
    while (progress->next < chosen.size()) {
        const size_t before = progress->next;
        const pid_t child = fork();
        if (child == 0) {
            int verdict = 1;
            try {
                verdict = run_from(chosen, progress);
            } catch (const std::exception& failed) {
                std::fprintf(stderr, "conformance: %s\n", failed.what());
            }
            // No exit handlers: what a spoilt context does in them is nobody's question.
            _exit(verdict);
        }
        if (child < 0)
            return 1;
        const std::optional<int> status = watch(child, *progress, limit);
        if (!status || WIFSIGNALED(*status)) {
            if (progress->next == before) {
                std::fprintf(stderr, "conformance: the driver did not start: %s\n", status ? "killed" : "time limit");
                return 1;
            }
            const char* name = chosen[progress->next - 1]->name.c_str();
            if (status) {
                std::printf("%s: signal=%d\n", name, WTERMSIG(*status));
            } else {
                std::printf("%s: timeout\n", name);
            }
            std::fflush(stdout);
            progress->result = 1;
        } else if (WEXITSTATUS(*status) != finished && WEXITSTATUS(*status) != spoilt) {
            return WEXITSTATUS(*status);
        }
    }
    return progress->result;
}

}  // namespace

void* look_up(const char* symbol) {
    static void* library = dlopen("libcuda.so.1", RTLD_NOW);
    return library != nullptr ? dlsym(library, symbol) : nullptr;
}

void note(const char* symbol, bool succeeded) {
    const std::lock_guard lock(seen_mutex);
    (succeeded ? seen_in_this_probe[symbol].success : seen_in_this_probe[symbol].error) = true;
}

std::vector<Probe>& probes() {
    static std::vector<Probe> all;
    return all;
}

Register::Register(std::string name, std::function<void(Out&)> run, Needs needs) {
    auto& all = probes();
    Probe probe{needs, std::move(name), std::move(run)};
    const auto place = std::upper_bound(all.begin(), all.end(), probe, [](const Probe& left, const Probe& right) {
        return std::tie(left.needs, left.name) < std::tie(right.needs, right.name);
    });
    all.insert(place, std::move(probe));
}

}  // namespace conformance

int main(int argc, char** argv) {
    std::string filter;
    std::chrono::seconds limit{20};
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--list") == 0) {
            for (const auto& probe : conformance::probes())
                std::printf("%s\n", probe.name.c_str());
            return 0;
        }
        if (std::strcmp(argv[i], "--filter") == 0 && i + 1 < argc) {
            filter = argv[++i];
            continue;
        }
        if (std::strcmp(argv[i], "--limit") == 0 && i + 1 < argc && std::atoi(argv[i + 1]) > 0) {
            limit = std::chrono::seconds(std::atoi(argv[++i]));
            continue;
        }
        std::fprintf(stderr, "usage: conformance [--list] [--filter TEXT] [--limit SECONDS]\n");
        return 2;
    }
    try {
        return conformance::run_all(filter, limit);
    } catch (const std::exception& failed) {
        std::fprintf(stderr, "conformance: %s\n", failed.what());
        return 1;
    }
}
