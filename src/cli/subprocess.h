// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace keepgraph::cli {

/// How a process ended: exactly one of the two is >= 0, neither when that is not known.
struct Ended {
    int code = -1;
    int signal = -1;
};

/// A short helper program with /dev/null as stdin; its stdout and stderr are kept.
struct Captured {
    Ended ended;
    std::string out;
    std::string err;
};
Captured capture(const std::vector<std::string>& args, const std::vector<std::string>& environment);

/// This process's environment without some variables, as NAME=VALUE.
std::vector<std::string> environment_without(const std::vector<std::string>& names);

/// Forks, calls `become` in the child (it must not return), passes signals on to the child and waits for it.
/// Throws std::system_error when there can be no child. While the child is stopped this process is, too.
/// The child starts with the signal mask and dispositions that this process was started with.
Ended run_and_wait(const std::function<void()>& become);

/// Ends this process as that one ended.
[[noreturn]] void end_like(const Ended& ended);

}  // namespace keepgraph::cli
