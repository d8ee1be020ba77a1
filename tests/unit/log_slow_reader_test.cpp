// SPDX-License-Identifier: Apache-2.0
// A blocking stderr whose reader is slow, or never reads: the program must not wait for it.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "log/log.h"
#include "pipe.h"
#include "scratch.h"

namespace keepgraph::log {
namespace {

using unit_tests::CapturedStderr;
using unit_tests::Ends;
using unit_tests::lowest_free_descriptor;
using unit_tests::Pipe;
using unit_tests::Scratch;
using unit_tests::Sleep;
using unit_tests::SoftLimit;
using unit_tests::StderrAs;

struct Terminal : Ends {
    Terminal() {
        EXPECT_EQ(::openpty(&ends[0], &ends[1], nullptr, nullptr, nullptr), 0);
        termios how{};
        ::tcgetattr(ends[1], &how);
        how.c_oflag &= ~static_cast<tcflag_t>(OPOST);  // a line ends with \n alone
        how.c_iflag |= IXON;
        how.c_lflag &= ~static_cast<tcflag_t>(ECHO);
        ::tcsetattr(ends[1], TCSANOW, &how);
    }
    void press(char key, bool room_afterwards) {
        EXPECT_EQ(::write(ends[0], &key, 1), 1);
        for (pollfd room{ends[1], POLLOUT, 0}; (::poll(&room, 1, 0) > 0) != room_afterwards;)
            std::this_thread::yield();
    }
};

struct Socket : Ends {
    Socket() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0); }
};

// A pipe with a name takes no RWF_NOWAIT, as none does before Linux 6.4.
struct Fifo : Ends {
    Fifo() {
        EXPECT_EQ(::mkfifo((scratch / "fifo").c_str(), 0600), 0);
        ends[0] = ::open((scratch / "fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        ends[1] = ::open((scratch / "fifo").c_str(), O_WRONLY | O_CLOEXEC);
    }
    Scratch scratch;
};

struct Kind {
    const char* name;
    std::function<std::unique_ptr<Ends>()> make;
    bool no_descriptor_left = false;
};
std::ostream& operator<<(std::ostream& out, const Kind& kind) {
    return out << kind.name;
}

class LogSlowReader : public testing::TestWithParam<Kind> {
  protected:
    std::unique_ptr<Ends> made_ = GetParam().make();
    Ends& stderr_ = *made_;
    std::optional<SoftLimit> limit_;
    void SetUp() override {
        const StderrAs as(stderr_.ends[1]);
        line("whatever was stuck before is not now");
        ASSERT_EQ(stderr_.drain(), "keepgraph: whatever was stuck before is not now\n");
    }
    void leave_no_descriptor() {
        if (GetParam().no_descriptor_left)
            limit_.emplace(RLIMIT_NOFILE, static_cast<rlim_t>(lowest_free_descriptor()));
    }
};

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string each; std::getline(in, each);)
        lines.push_back(each);
    return lines;
}

TEST_P(LogSlowReader, OneThatNeverReadsIsNotWaitedForAgain) {
    const int flags = ::fcntl(stderr_.ends[1], F_GETFL);
    const int free_before = lowest_free_descriptor();
    constexpr int all = 2000;  // with 100 ms for each the test would run out of time
    const std::string long_text(900, 'x');
    {
        const StderrAs as(stderr_.ends[1]);
        leave_no_descriptor();
        const auto before = lost();
        for (int i = 0; i < all; ++i)
            line(std::to_string(i) + " " + long_text);
        EXPECT_GT(lost(), before);
        const auto lost_of_all = lost() - before;
        const auto lines = lines_of(stderr_.drain());
        const auto whole = static_cast<std::size_t>(all - static_cast<int>(lost_of_all));
        ASSERT_GE(lines.size(), whole);
        EXPECT_LE(lines.size(), whole + 1) << "the last one may be cut";
        for (std::size_t i = 0; i < whole; ++i)
            EXPECT_EQ(lines[i], "keepgraph: " + std::to_string(i) + " " + long_text);
        line("room again");
        const auto more = lines_of(stderr_.drain());
        ASSERT_FALSE(more.empty());
        EXPECT_EQ(more.back(), "keepgraph: room again");
        EXPECT_EQ(lost() - before, lost_of_all);
    }
    limit_.reset();
    EXPECT_EQ(::fcntl(stderr_.ends[1], F_GETFL), flags) << "the program shares it with its parent";
    EXPECT_EQ(lowest_free_descriptor(), free_before);
}

// Lines of `writers` threads to a reader that reads a little whenever one of them sleeps. What it got; nothing when a
// line was lost, since the machine stalled the reader for as long as it is waited for.
std::optional<std::string> read_slowly(Ends& ends, int writers, const std::function<void(int)>& write) {
    const StderrAs as(ends.ends[1]);
    ::fcntl(ends.ends[0], F_SETFL, O_NONBLOCK);
    const auto before = lost();
    std::atomic<int> working{writers};
    std::atomic<int> began{0};
    std::vector<long> ids(static_cast<std::size_t>(writers));
    std::vector<std::unique_ptr<Sleep>> sleep(ids.size());
    std::atomic<bool> go{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < writers; ++t)
        threads.emplace_back([&, t] {
            ids[static_cast<std::size_t>(t)] = ::syscall(SYS_gettid);
            ++began;
            while (!go)
                std::this_thread::yield();
            write(t);
            --working;
        });
    while (began < writers)
        std::this_thread::yield();
    for (std::size_t t = 0; t < ids.size(); ++t)
        sleep[t] = std::make_unique<Sleep>(ids[t]);
    go = true;
    std::string got;
    char part[5000];
    while (working > 0) {
        bool sleeping = false;
        for (const auto& each : sleep)
            sleeping = sleeping || each->now();
        if (!sleeping) {
            std::this_thread::yield();
            continue;
        }
        if (const ssize_t n = ::read(ends.ends[0], part, sizeof part); n > 0)
            got.append(part, static_cast<std::size_t>(n));
    }
    for (auto& thread : threads)
        thread.join();
    got += ends.drain();
    return lost() == before ? std::optional(got) : std::nullopt;
}

TEST_P(LogSlowReader, OneThatReadsGetsEveryLineInOrder) {
    std::string text, expected;  // longer than a pipe holds
    for (int i = 0; i < 4000; ++i) {
        const std::string each = std::to_string(i) + std::string(60, '.');
        text += (i > 0 ? "\n" : "") + each;
        expected += "keepgraph: " + each + "\n";
    }
    expected += "keepgraph: next\n";
    std::optional<std::string> got;
    for (int attempt = 0; attempt < 20 && !got; ++attempt) {
        stderr_.drain();
        got = read_slowly(stderr_, 1, [&](int) {
            leave_no_descriptor();
            line(text);
            line("next");
            limit_.reset();
        });
    }
    ASSERT_TRUE(got);
    EXPECT_EQ(*got, expected);
}

TEST_P(LogSlowReader, LinesOfThreadsDoNotMix) {
    if (std::string(GetParam().name) == "terminal")
        return;  // what a terminal has room for may end inside of a line
    std::optional<std::string> got;
    for (int attempt = 0; attempt < 20 && !got; ++attempt) {
        stderr_.drain();
        got = read_slowly(stderr_, 4, [&](int t) {
            for (int i = 0; i < 200; ++i)
                line(std::to_string(t) + std::string(500, static_cast<char>('a' + t)));
        });
    }
    ASSERT_TRUE(got);
    std::size_t count = 0;
    for (const std::string& each : lines_of(*got)) {
        ASSERT_EQ(each.size(), 512u) << each;
        EXPECT_EQ(each.substr(12), std::string(500, static_cast<char>('a' + (each[11] - '0'))));
        ++count;
    }
    EXPECT_EQ(count, 800u);
}

TEST_P(LogSlowReader, SignalsDuringTheWaitCostNoLine) {
    static std::atomic<int> handled;
    handled = 0;
    struct sigaction handler {
    }, before_handler{};
    handler.sa_handler = [](int) { ++handled; };  // and no SA_RESTART
    ::sigaction(SIGUSR1, &handler, &before_handler);
    const pthread_t writer = ::pthread_self();
    const std::string text(300000, 'x');
    bool whole = false;
    for (int attempt = 0; attempt < 20 && !whole; ++attempt) {
        stderr_.drain();
        const StderrAs as(stderr_.ends[1]);
        const auto before = lost();
        const Sleep sleep(::syscall(SYS_gettid));
        std::atomic<bool> done{false};
        std::string got;
        std::thread reader([&] {
            while (!done) {
                if (!sleep.now()) {
                    std::this_thread::yield();
                    continue;
                }
                ::pthread_kill(writer, SIGUSR1);
                got += stderr_.drain();
            }
            got += stderr_.drain();
        });
        line(text);
        done = true;
        reader.join();
        whole = lost() == before && got == "keepgraph: " + text + "\n";
    }
    ::sigaction(SIGUSR1, &before_handler, nullptr);
    EXPECT_TRUE(whole);
    EXPECT_GT(handled, 0);
}

INSTANTIATE_TEST_SUITE_P(Blocking, LogSlowReader,
                         testing::Values(Kind{"pipe", [] { return std::make_unique<Pipe>(0); }},
                                         Kind{"fifo", [] { return std::make_unique<Fifo>(); }},
                                         Kind{"fifo_without_descriptors", [] { return std::make_unique<Fifo>(); },
                                              true},
                                         Kind{"socket", [] { return std::make_unique<Socket>(); }},
                                         Kind{"terminal", [] { return std::make_unique<Terminal>(); }}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(LogSlowReaderCut, LineThatWasCutDoesNotRunIntoOneAfterALostOne) {
    Pipe pipe(0);
    const auto before = lost();
    {
        const StderrAs as(pipe.ends[1]);
        line(std::string(200000, 'x'));
        line(std::string(2000, 'y'));
        EXPECT_EQ(lost(), before + 2);
        const std::string cut = pipe.drain();
        EXPECT_GT(cut.size(), 4096u);
        EXPECT_EQ(cut.find('\n'), std::string::npos);
        line("whole");
    }
    EXPECT_EQ(pipe.drain(), "\nkeepgraph: whole\n");
}

TEST(LogSlowReaderTerminal, OneThatIsStoppedLosesLinesUntilItGoesOn) {
    constexpr char stop = 'S' - '@', go = 'Q' - '@';
    Terminal terminal;
    const auto before = lost();
    {
        const StderrAs as(terminal.ends[1]);
        line("before");
        terminal.press(stop, false);
        line("nobody reads this");
        EXPECT_EQ(lost(), before + 1);
        terminal.press(go, true);
        line("after");
    }
    EXPECT_EQ(lost(), before + 1);
    EXPECT_EQ(terminal.drain(), "keepgraph: before\nkeepgraph: after\n");
}

TEST(LogSlowReaderFile, TextOfAnyLengthIsOneWrite) {
    const CapturedStderr captured;
    std::vector<std::thread> threads;
    std::atomic<int> ready{0};
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([t, &ready] {
            std::string text;
            for (int i = 0; i < 200; ++i)
                text += std::string(100, static_cast<char>('a' + t)) + (i < 199 ? "\n" : "");
            for (++ready; ready < 4;)
                std::this_thread::yield();
            for (int i = 0; i < 100; ++i)
                line(text);
        });
    for (auto& thread : threads)
        thread.join();
    const auto lines = lines_of(captured.text());
    ASSERT_EQ(lines.size(), 4u * 100 * 200);
    for (std::size_t i = 0; i < lines.size(); ++i)
        ASSERT_EQ(lines[i], lines[i - i % 200]) << i;
}

}  // namespace
}  // namespace keepgraph::log
