// SPDX-License-Identifier: Apache-2.0
#include "syscalls.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <tuple>

namespace keepgraph::preload_tests {
namespace {

std::string string_at(pid_t process, unsigned long address) {
    std::string text;
    while (text.size() < 4096) {
        // Page by page: a read across the end of a mapping would fail as a whole.
        char buffer[256];
        size_t length = std::min<size_t>(sizeof buffer, 4096 - address % 4096);
        iovec local{buffer, length};
        iovec remote{reinterpret_cast<void*>(address), length};
        ssize_t count = process_vm_readv(process, &local, 1, &remote, 1, 0);
        if (count <= 0)
            break;
        auto end = std::find(buffer, buffer + count, '\0');
        text.append(buffer, end);
        if (end != buffer + count)
            break;
        address += static_cast<unsigned long>(count);
    }
    return text;
}

enum class Kind { other, open, folder, task, socket };

/// What a system call is for us, and which of its arguments is the path.
std::pair<Kind, int> classify(unsigned long number) {
    switch (number) {
#ifdef SYS_open
        case SYS_open:
        case SYS_creat:
            return {Kind::open, 0};
        case SYS_mkdir:
            return {Kind::folder, 0};
        case SYS_fork:
        case SYS_vfork:
            return {Kind::task, 0};
#endif
        case SYS_openat:
        case SYS_openat2:
            return {Kind::open, 1};
        case SYS_mkdirat:
            return {Kind::folder, 1};
        case SYS_clone:
        case SYS_clone3:
            return {Kind::task, 0};
        case SYS_socket:
            return {Kind::socket, 0};
        default:
            return {Kind::other, 0};
    }
}

}  // namespace

Trace trace_system_calls(const Command& command) {
    std::vector<std::string> args = command.args;
    std::vector<std::string> env;
    for (const auto& [name, value] : command.env)
        env.push_back(name + "=" + value);
    std::vector<char*> argv, envp;
    for (std::string& text : args)
        argv.push_back(text.data());
    for (std::string& text : env)
        envp.push_back(text.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);

    pid_t child = fork();
    if (child < 0)
        throw std::system_error(errno, std::generic_category(), "fork");
    if (child == 0) {
        int null = open("/dev/null", O_RDWR);
        for (int fd = 0; fd < 3; ++fd)
            dup2(null, fd);
        if (null > 2)
            close(null);
        ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        raise(SIGSTOP);
        execve(argv[0], argv.data(), envp.data());
        _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC) !=
        0) {
        int code = errno;
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
        throw std::system_error(code, std::generic_category(), "ptrace");
    }

    Trace trace;
    bool started = false;  // the exec itself, and what came before it, is the harness
    Kind kind = Kind::other;
    std::string path;
    int to_deliver = 0;
    for (;;) {
        ptrace(PTRACE_SYSCALL, child, nullptr, reinterpret_cast<void*>(static_cast<long>(to_deliver)));
        to_deliver = 0;
        if (waitpid(child, &status, 0) != child)
            break;
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            trace.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            break;
        }
        if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8)) {
            started = true;
            continue;
        }
        if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
            to_deliver = WSTOPSIG(status);
            continue;
        }
        __ptrace_syscall_info info{};
        ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info);
        if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
            int index;
            std::tie(kind, index) = classify(info.entry.nr);
            bool has_path = kind == Kind::open || kind == Kind::folder;
            path = has_path ? string_at(child, info.entry.args[index]) : "";
        } else if (info.op == PTRACE_SYSCALL_INFO_EXIT && started) {
            if (kind == Kind::open && !info.exit.is_error)
                trace.opened.push_back(path);
            if (kind == Kind::folder)
                trace.folders.push_back(path);
            if (kind == Kind::task && info.exit.rval > 0)
                ++trace.tasks;
            if (kind == Kind::socket)
                ++trace.sockets;
            kind = Kind::other;
        }
    }
    return trace;
}

}  // namespace keepgraph::preload_tests
