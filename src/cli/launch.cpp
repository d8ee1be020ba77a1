// SPDX-License-Identifier: Apache-2.0
#include "cli/launch.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "cli/preload.h"

namespace keepgraph::cli {

Launch prepare(const std::vector<std::string>& words) {
    const Shim shim = find_shim();
    const std::optional<ElfFile> shim_elf = shim.path.empty() ? std::nullopt : ElfFile::open(shim.path);
    Launch launch{words, inspect(words, shim.path, shim_elf ? &*shim_elf : nullptr), {}, {}};
    if (launch.target.refusal) {
        launch.refusal = Refusal{launch.target.refusal->code, "cannot run " + launch.target.refusal->reason};
    } else if (!shim_elf) {
        const std::string reason = shim.problem.empty() ? shim.path + " is no ELF file" : shim.problem;
        launch.refusal = Refusal{exit_refused, reason};
    }
    launch.preload = preload_chain(sanitizer_runtimes(launch.target), shim.path, std::getenv("LD_PRELOAD"));
    return launch;
}

void become(const Launch& launch) {
    std::vector<char*> argv;
    for (const std::string& word : launch.words) {
        argv.push_back(const_cast<char*>(word.c_str()));
    }
    argv.push_back(nullptr);
    // Not execvp: it would look once more, and might find another file than the one that was checked.
    if (launch.target.shell_script) {
        std::string shell = "/bin/sh";
        argv[0] = const_cast<char*>(launch.target.path.c_str());
        argv.insert(argv.begin(), shell.data());
        execv(shell.c_str(), argv.data());
    } else {
        execv(launch.target.path.c_str(), argv.data());
    }
    const int error = errno;
    std::fprintf(stderr, "keepgraph: cannot run %s: %s\n", launch.target.path.c_str(), std::strerror(error));
    _exit(error == ENOENT ? exit_not_found : exit_not_executable);
}

int refuse(int code, const std::string& reason) {
    std::fprintf(stderr, "keepgraph: %s\n", reason.c_str());
    return code;
}

void set_variable(const std::string& name, const std::string& value) {
    if (setenv(name.c_str(), value.c_str(), 1) != 0) {
        throw std::system_error(errno, std::generic_category(), "cannot set " + name);
    }
}

}  // namespace keepgraph::cli
