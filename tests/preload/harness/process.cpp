// SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace keepgraph::preload_tests {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

struct Pipe {
    int read_end = -1;
    int write_end = -1;
    Pipe() {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0)
            fail("pipe2");
        read_end = ends[0];
        write_end = ends[1];
    }
    ~Pipe() {
        close_read();
        close_write();
    }
    void close_read() { close_one(read_end); }
    void close_write() { close_one(write_end); }
    static void close_one(int& fd) {
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
};

std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> result;
    for (std::string& text : strings)
        result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

/// Runs between fork and exec: only async-signal-safe calls, everything is prepared by the parent.
[[noreturn]] void become(const Command& command, char* const* argv, char* const* envp, int out, int err, int failure) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    for (int number = 1; number < NSIG; ++number)
        signal(number, SIG_DFL);
    int null = open("/dev/null", O_RDONLY);
    dup2(null, 0);
    dup2(out, 1);
    dup2(err, 2);
    close(null);
    if (command.file_size_limit != 0) {
        rlimit limit{command.file_size_limit, command.file_size_limit};
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    if (command.directory.empty() || chdir(command.directory.c_str()) == 0)
        execve(argv[0], argv, envp);
    int code = errno;
    [[maybe_unused]] ssize_t written = write(failure, &code, sizeof code);
    _exit(127);
}

std::string find_in_path(const std::string& program, const std::map<std::string, std::string>& env) {
    if (program.find('/') != std::string::npos)
        return program;
    auto path = env.find("PATH");
    std::stringstream folders(path == env.end() ? "/usr/local/bin:/usr/bin:/bin" : path->second);
    for (std::string folder; std::getline(folders, folder, ':');) {
        std::string candidate = folder + "/" + program;
        if (access(candidate.c_str(), X_OK) == 0)
            return candidate;
    }
    throw std::runtime_error("program not found: " + program);
}

}  // namespace

std::string Outcome::describe() const {
    std::stringstream text;
    if (timed_out) {
        text << "timed out";
    } else if (signal != 0) {
        text << "killed by signal " << signal << " (" << strsignal(signal) << ")";
    } else {
        text << "exit code " << exit_code;
    }
    text << "\n--- stdout\n" << out << "--- stderr\n" << err << "---";
    return text.str();
}

Outcome run(const Command& command) {
    std::vector<std::string> args = command.args;
    args[0] = find_in_path(args[0], command.env);
    std::vector<std::string> env;
    for (const auto& [name, value] : command.env)
        env.push_back(name + "=" + value);
    std::vector<char*> argv = pointers(args);
    std::vector<char*> envp = pointers(env);

    Pipe out, err, failure;
    pid_t child = fork();
    if (child < 0)
        fail("fork");
    if (child == 0)
        become(command, argv.data(), envp.data(), out.write_end, err.write_end, failure.write_end);
    out.close_write();
    err.close_write();
    failure.close_write();
    int exec_error = 0;
    if (read(failure.read_end, &exec_error, sizeof exec_error) == sizeof exec_error) {
        waitpid(child, nullptr, 0);
        throw std::system_error(exec_error, std::generic_category(), "cannot run " + args[0]);
    }

    Outcome outcome;
    auto start = Clock::now();
    auto deadline = start + command.timeout;
    bool killed_on_request = command.kill_with == 0;
    bool ended = false;
    int status = 0;
    while (out.read_end >= 0 || err.read_end >= 0 || !ended) {
        auto now = Clock::now();
        if (!killed_on_request && now >= start + command.kill_after) {
            kill(child, command.kill_with);
            killed_on_request = true;
        }
        if (now >= deadline) {
            // A grandchild that keeps the pipes open past the program's end is a leak as much as a program that hangs.
            outcome.timed_out = true;
            kill(-child, SIGKILL);
            if (!ended)
                waitpid(child, &status, 0);
            break;
        }
        pollfd fds[2] = {{out.read_end, POLLIN, 0}, {err.read_end, POLLIN, 0}};
        poll(fds, 2, 10);
        for (int index = 0; index < 2; ++index) {
            if (fds[index].revents == 0)
                continue;
            char buffer[65536];
            ssize_t count = read(fds[index].fd, buffer, sizeof buffer);
            if (count > 0) {
                (index == 0 ? outcome.out : outcome.err).append(buffer, static_cast<size_t>(count));
            } else if (count == 0) {
                index == 0 ? out.close_read() : err.close_read();
            }
        }
        if (!ended)
            ended = waitpid(child, &status, WNOHANG) == child;
    }
    kill(-child, SIGKILL);
    if (outcome.timed_out)
        return outcome;
    if (WIFSIGNALED(status)) {
        outcome.signal = WTERMSIG(status);
    } else {
        outcome.exit_code = WEXITSTATUS(status);
    }
    return outcome;
}

TempFolder::TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "keepgraph-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
        fail("mkdtemp");
    path_ = pattern;
    // Programs that drop their rights must still be able to reach a folder of theirs inside.
    std::filesystem::permissions(path_, std::filesystem::perms(0755));
}

TempFolder::~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw std::runtime_error("cannot read " + path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

void write_file(const std::string& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    if (!file.flush())
        throw std::runtime_error("cannot write " + path);
}

std::vector<std::string> split_lines(const std::string& text) {
    std::vector<std::string> lines;
    std::stringstream stream(text);
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    return lines;
}

bool file_exists(const std::string& path) {
    return std::filesystem::exists(path);
}

}  // namespace keepgraph::preload_tests
