// SPDX-License-Identifier: Apache-2.0
//
// Both ends of what a stderr may be, and a look at whether the thread that writes there waits.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace keepgraph::unit_tests {

/// ends[1] is written to and ends[0] read from.
struct Ends {
    Ends() = default;
    ~Ends() {
        close_reader();
        ::close(ends[1]);
    }
    Ends(const Ends&) = delete;
    Ends& operator=(const Ends&) = delete;
    void close_reader() {
        if (ends[0] >= 0)
            ::close(ends[0]);
        ends[0] = -1;
    }
    /// All that is there.
    std::string drain() {
        ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
        std::string all;
        char part[65536];
        for (ssize_t n; (n = ::read(ends[0], part, sizeof part)) > 0;)
            all.append(part, static_cast<std::size_t>(n));
        return all;
    }
    int ends[2]{-1, -1};
};

struct Pipe : Ends {
    explicit Pipe(int flags) { EXPECT_EQ(::pipe2(ends, flags | O_CLOEXEC), 0); }
    /// Of a non-blocking one.
    void fill() {
        const std::string page(4096, 'x');
        while (::write(ends[1], page.data(), page.size()) > 0) {
        }
        ASSERT_EQ(errno, EAGAIN);
    }
};

/// Whether a thread of this process sleeps. Opens nothing but when it is made.
class Sleep {
  public:
    explicit Sleep(long thread)
        : stat_(::open(("/proc/self/task/" + std::to_string(thread) + "/stat").c_str(), O_RDONLY | O_CLOEXEC)) {}
    ~Sleep() { ::close(stat_); }
    Sleep(const Sleep&) = delete;
    Sleep& operator=(const Sleep&) = delete;
    bool now() const {
        char text[512];
        const ssize_t size = ::pread(stat_, text, sizeof text, 0);
        const std::string stat(text, size > 0 ? static_cast<std::size_t>(size) : 0);
        const auto name_end = stat.rfind(')');
        return name_end != std::string::npos && stat.compare(name_end, 3, ") S") == 0;
    }

  private:
    int stat_;
};

}  // namespace keepgraph::unit_tests
