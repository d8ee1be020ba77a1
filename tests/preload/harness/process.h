// SPDX-License-Identifier: Apache-2.0
// Runs one program to its end and keeps everything that can be seen of it from outside.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace keepgraph::preload_tests {

/// What a process left behind. Exactly one of exit_code >= 0, signal > 0 and timed_out holds.
struct Outcome {
    std::string out;
    std::string err;
    int exit_code = -1;
    int signal = 0;
    bool timed_out = false;

    bool ended_with(int code) const { return !timed_out && signal == 0 && exit_code == code; }
    /// One line for failure messages: how it ended, and both streams.
    std::string describe() const;
};

struct Command {
    std::vector<std::string> args;
    /// The whole environment: nothing is inherited, so a variable of the caller's shell cannot change a test.
    std::map<std::string, std::string> env;
    std::string directory;  // empty: the caller's
    std::chrono::seconds timeout{25};
    /// RLIMIT_FSIZE of the child in bytes, 0 for none: the portable way to have a disk that is full.
    unsigned long file_size_limit = 0;
    /// Signal to send and how long to wait for it, for tests that kill a running program.
    int kill_with = 0;
    std::chrono::milliseconds kill_after{0};
};

/// stdin is /dev/null, the process leads its own group and the whole group is killed at the time-out, so that a test
/// that hangs leaves nothing behind.
Outcome run(const Command& command);

/// A folder of its own for one test, removed with all it holds.
class TempFolder {
  public:
    TempFolder();
    ~TempFolder();
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;

    const std::string& path() const { return path_; }
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  private:
    std::string path_;
};

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& text);
std::vector<std::string> split_lines(const std::string& text);
bool file_exists(const std::string& path);

}  // namespace keepgraph::preload_tests
