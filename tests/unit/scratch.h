// SPDX-License-Identifier: Apache-2.0
//
// Places to write to, and conditions that a test puts the process under and takes back.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace keepgraph::unit_tests {

class Scratch {
  public:
    Scratch() {
        std::string pattern = (std::filesystem::temp_directory_path() / "keepgraph-unit-XXXXXX").string();
        path_ = ::mkdtemp(pattern.data());
    }
    ~Scratch() { std::filesystem::remove_all(path_); }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  private:
    std::string path_;
};

inline std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

inline void put(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

/// The descriptor that this process has open for the file, -1: none.
inline int descriptor_of(const std::string& path) {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code ignored;
        if (std::filesystem::read_symlink(entry.path(), ignored) == path)
            return std::stoi(entry.path().filename());
    }
    return -1;
}

/// The number that the program's next open() gets.
inline int lowest_free_descriptor() {
    const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::close(fd);
    return fd;
}

/// Descriptor 2 is another one while this lives; -1: closed.
class StderrAs {
  public:
    explicit StderrAs(int fd) : saved_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 100)) {
        if (fd >= 0)
            ::dup2(fd, STDERR_FILENO);
        else
            ::close(STDERR_FILENO);
    }
    ~StderrAs() {
        ::dup2(saved_, STDERR_FILENO);
        ::close(saved_);
    }
    StderrAs(const StderrAs&) = delete;
    StderrAs& operator=(const StderrAs&) = delete;

  private:
    int saved_;
};

/// What goes to stderr while this lives, in a file.
class CapturedStderr {
  public:
    CapturedStderr()
        : fd_(::open((scratch_ / "stderr").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)), as_(fd_) {}
    ~CapturedStderr() { ::close(fd_); }
    std::string text() const { return content(scratch_ / "stderr"); }

  private:
    Scratch scratch_;
    int fd_;
    StderrAs as_;
};

class SoftLimit {
  public:
    SoftLimit(int resource, rlim_t value) : resource_(resource) {
        ::getrlimit(static_cast<__rlimit_resource>(resource_), &before_);
        rlimit now = before_;
        now.rlim_cur = value;
        EXPECT_EQ(::setrlimit(static_cast<__rlimit_resource>(resource_), &now), 0);
    }
    ~SoftLimit() { ::setrlimit(static_cast<__rlimit_resource>(resource_), &before_); }
    SoftLimit(const SoftLimit&) = delete;
    SoftLimit& operator=(const SoftLimit&) = delete;

  private:
    int resource_;
    rlimit before_{};
};

/// The calling thread's mask and pending signals, as one comparable text.
inline std::string signal_state() {
    sigset_t blocked, pending;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    sigpending(&pending);
    std::string state;
    for (int signal = 1; signal < NSIG; ++signal) {
        state += sigismember(&blocked, signal) == 1 ? 'b' : '-';
        state += sigismember(&pending, signal) == 1 ? 'p' : '-';
    }
    return state;
}

}  // namespace keepgraph::unit_tests
