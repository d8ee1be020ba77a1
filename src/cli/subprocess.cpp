// SPDX-License-Identifier: Apache-2.0
#include "cli/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace keepgraph::cli {
namespace {

Ended wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            return {};
        }
    }
    return WIFSIGNALED(status) ? Ended{-1, WTERMSIG(status)} : Ended{WEXITSTATUS(status), -1};
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (const std::string& text : texts) {
        result.push_back(const_cast<char*>(text.c_str()));
    }
    result.push_back(nullptr);
    return result;
}

struct Pipe {
    std::array<int, 2> ends{-1, -1};
    bool open() { return pipe2(ends.data(), O_CLOEXEC) == 0; }
    void close(int which) {
        if (ends[which] >= 0) {
            ::close(ends[which]);
            ends[which] = -1;
        }
    }
    ~Pipe() {
        close(0);
        close(1);
    }
};

// What somebody may send to a command in order to reach the program in it.
constexpr std::array forwarded{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGCONT, SIGTSTP};

// Stops this process as its child was stopped, until somebody says SIGCONT. Not when the signal arrives: a program that
// handles SIGTSTP or ignores it goes on, and a command that had stopped by itself would look like a stopped job.
void stop_like(int number) {
    struct sigaction plain {};
    struct sigaction inherited {};
    plain.sa_handler = SIG_DFL;
    sigset_t only;
    sigset_t before;
    sigemptyset(&only);
    sigaddset(&only, number);
    sigaction(number, &plain, &inherited);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &only, &before);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    sigaction(number, &inherited, nullptr);
}

}  // namespace

Captured capture(const std::vector<std::string>& args, const std::vector<std::string>& environment) {
    Captured result;
    Pipe out;
    Pipe err;
    if (!out.open() || !err.open()) {
        return result;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out.ends[1], 1);
    posix_spawn_file_actions_adddup2(&actions, err.ends[1], 2);
    pid_t child = 0;
    const int failure =
        posix_spawn(&child, args[0].c_str(), &actions, nullptr, pointers(args).data(), pointers(environment).data());
    posix_spawn_file_actions_destroy(&actions);
    if (failure != 0) {
        return result;
    }
    out.close(1);
    err.close(1);
    while (out.ends[0] >= 0 || err.ends[0] >= 0) {
        pollfd fds[2] = {{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}};
        if (poll(fds, 2, -1) < 0 && errno != EINTR) {
            break;
        }
        for (int i = 0; i < 2; ++i) {
            char buffer[4096];
            const ssize_t count = fds[i].revents != 0 ? read(fds[i].fd, buffer, sizeof buffer) : -1;
            if (count > 0) {
                (i == 0 ? result.out : result.err).append(buffer, static_cast<std::size_t>(count));
            } else if (count == 0) {
                (i == 0 ? out : err).close(0);
            }
        }
    }
    result.ended = wait_for(child);
    return result;
}

std::vector<std::string> environment_without(const std::vector<std::string>& names) {
    std::vector<std::string> result;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        if (std::find(names.begin(), names.end(), text.substr(0, text.find('='))) == names.end()) {
            result.emplace_back(text);
        }
    }
    return result;
}

Ended run_and_wait(const std::function<void()>& become) {
    // The signals are blocked and fetched with sigwaitinfo: no handler, so no gap between fork and its set-up, and
    // nothing that the child would have to undo but the mask.
    sigset_t watched;
    sigset_t before;
    sigemptyset(&watched);
    for (const int number : forwarded) {
        sigaddset(&watched, number);
    }
    sigaddset(&watched, SIGCHLD);
    sigprocmask(SIG_BLOCK, &watched, &before);
    // A caller that ignores SIGCHLD would have the kernel reap the child behind our back.
    struct sigaction plain {};
    struct sigaction inherited {};
    plain.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &plain, &inherited);

    const pid_t self = getpid();
    const pid_t child = fork();
    if (child == 0) {
        // Whoever kills the command means the program, as without --error-exitcode, where the two are one process.
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != self) {
            _exit(125);
        }
        sigaction(SIGCHLD, &inherited, nullptr);
        sigprocmask(SIG_SETMASK, &before, nullptr);
        become();
        _exit(127);
    }
    if (child < 0) {
        const int error = errno;
        sigaction(SIGCHLD, &inherited, nullptr);
        sigprocmask(SIG_SETMASK, &before, nullptr);
        throw std::system_error(error, std::generic_category(), "cannot start the program");
    }
    while (true) {
        siginfo_t info{};
        const int number = sigwaitinfo(&watched, &info);
        if (number == SIGCHLD) {
            siginfo_t state{};
            if (waitid(P_PID, static_cast<id_t>(child), &state, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                state.si_pid == child) {
                break;
            }
            if (waitid(P_PID, static_cast<id_t>(child), &state, WSTOPPED | WNOHANG) == 0 && state.si_pid == child) {
                stop_like(state.si_status);
            }
        } else if (number > 0) {
            // ^C and its kind go from the terminal to the whole foreground group: the program has had it already,
            // unless it went into a group of its own.
            const bool from_kernel = info.si_code > 0;
            if (!from_kernel || getpgid(child) != getpgrp()) {
                kill(child, number);
            }
        }
    }
    const Ended ended = wait_for(child);
    sigaction(SIGCHLD, &inherited, nullptr);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return ended;
}

void end_like(const Ended& ended) {
    if (ended.signal > 0) {
        // The signal is raised once more instead of an exit with 128+n: a shell, make or a batch system then sees
        // what it would see without us (an interactive shell stops its script at ^C only when the program died of it).
        // Without a core file: the program has written its own, and ours would take its place.
        const rlimit no_core{0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        prctl(PR_SET_DUMPABLE, 0);  // a core_pattern that is a pipe does not ask RLIMIT_CORE
        signal(ended.signal, SIG_DFL);
        sigset_t only;
        sigemptyset(&only);
        sigaddset(&only, ended.signal);
        sigprocmask(SIG_UNBLOCK, &only, nullptr);
        raise(ended.signal);
        // The first process of a container does not die of a signal.
        _exit(128 + ended.signal);
    }
    std::exit(ended.code >= 0 ? ended.code : 125);
}

}  // namespace keepgraph::cli
