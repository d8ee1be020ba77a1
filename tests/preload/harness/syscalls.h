// SPDX-License-Identifier: Apache-2.0
// Records which files a program opens, which folders and tasks it makes. Written over ptrace, because what has to be
// shown is that nothing happens: LD_DEBUG sees only the loader's files, strace may be missing, and a test that skips
// itself where its tool is missing proves nothing.
#pragma once

#include <string>
#include <vector>

#include "process.h"

namespace keepgraph::preload_tests {

struct Trace {
    std::vector<std::string> opened;   // paths given to open, openat, openat2, creat that succeeded, in order
    std::vector<std::string> folders;  // paths given to mkdir, mkdirat
    int tasks = 0;                     // fork, vfork, clone, clone3: processes and threads
    int sockets = 0;
    int exit_code = -1;
};

/// Output of the program goes to /dev/null. Children are counted, not followed.
Trace trace_system_calls(const Command& command);

}  // namespace keepgraph::preload_tests
