// SPDX-License-Identifier: Apache-2.0
#include "log/log.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "log/held_signals.h"
#include "no_memory.h"
#include "pipe.h"
#include "scratch.h"

namespace keepgraph::log {
namespace {

using unit_tests::CapturedStderr;
using unit_tests::content;
using unit_tests::NoMemory;
using unit_tests::Pipe;
using unit_tests::signal_state;
using unit_tests::Sleep;
using unit_tests::SoftLimit;
using unit_tests::StderrAs;

class LogTest : public testing::Test {
  protected:
    ~LogTest() override { set_level(config::LogLevel::warn); }
};

TEST_F(LogTest, MessageIsOneWrite) {
    Pipe pipe(O_DIRECT);  // a read gives what one write wrote
    {
        const StderrAs as(pipe.ends[1]);
        line("finding 1");
        line("two\nlines");
    }
    char packet[4096];
    ASSERT_GT(::read(pipe.ends[0], packet, sizeof packet), 0);
    EXPECT_EQ(std::string(packet, 21), "keepgraph: finding 1\n");
    const auto size = ::read(pipe.ends[0], packet, sizeof packet);
    EXPECT_EQ(std::string(packet, static_cast<std::size_t>(size)), "keepgraph: two\nkeepgraph: lines\n");
}

TEST_F(LogTest, ControlCharactersAreReplacedAndBracesAreText) {
    const CapturedStderr captured;
    line(
        std::string_view("a\x1b[2Jb\tc\rd\x7f"
                         "e\0f {} {0} %s \xc3\xa9",
                         27));
    EXPECT_EQ(captured.text(), "keepgraph: a?[2Jb?c?d?e?f {} {0} %s \xc3\xa9\n");
}

TEST_F(LogTest, LevelsFilterButFindingsAreAlwaysPrinted) {
    const CapturedStderr captured;
    const auto all = [] {
        say(config::LogLevel::debug, "debug");
        say(config::LogLevel::info, "info");
        say(config::LogLevel::warn, "warn");
        say(config::LogLevel::error, "error");
        say(config::LogLevel::off, "off");
        line("line");
    };
    all();
    EXPECT_EQ(captured.text(), "keepgraph: warn\nkeepgraph: error\nkeepgraph: line\n");
    set_level(config::LogLevel::debug);
    all();
    EXPECT_TRUE(enabled(config::LogLevel::debug));
    EXPECT_FALSE(enabled(config::LogLevel::trace));
    set_level(config::LogLevel::off);
    all();
    EXPECT_FALSE(enabled(config::LogLevel::error));
    EXPECT_FALSE(enabled(config::LogLevel::off));
    EXPECT_EQ(captured.text(),
              "keepgraph: warn\nkeepgraph: error\nkeepgraph: line\n"
              "keepgraph: debug\nkeepgraph: info\nkeepgraph: warn\nkeepgraph: error\nkeepgraph: line\n"
              "keepgraph: line\n");
}

TEST_F(LogTest, OnceIsOncePerFlag) {
    const CapturedStderr captured;
    std::atomic<bool> one{false}, other{false};
    once(one, "one");
    once(one, "one again");
    once(other, "other");
    EXPECT_EQ(captured.text(), "keepgraph: one\nkeepgraph: other\n");
}

TEST_F(LogTest, ClosedStderrCostsTheLineOnly) {
    const auto before = lost();
    int error_after = 0;
    {
        const StderrAs closed(-1);
        errno = 77;
        line("nobody reads this");
        error_after = errno;
    }
    EXPECT_EQ(error_after, 77);
    EXPECT_EQ(lost(), before + 1);
}

TEST_F(LogTest, ReaderThatIsGoneKillsNothing) {
    ASSERT_EQ(::signal(SIGPIPE, SIG_DFL), SIG_DFL) << "the default would end this process";
    Pipe pipe(0);
    pipe.close_reader();
    const std::string state = signal_state();
    const auto before = lost();
    {
        const StderrAs as(pipe.ends[1]);
        line("nobody reads this");
    }
    EXPECT_EQ(signal_state(), state);
    EXPECT_EQ(lost(), before + 1);
}

TEST_F(LogTest, SigpipeOfTheProgramStaysPending) {
    sigset_t pipe_signal, before;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    pthread_kill(pthread_self(), SIGPIPE);
    const std::string state = signal_state();
    Pipe pipe(0);
    pipe.close_reader();
    {
        const StderrAs as(pipe.ends[1]);
        line("nobody reads this");
    }
    EXPECT_EQ(signal_state(), state);
    const timespec at_once{0, 0};
    EXPECT_EQ(sigtimedwait(&pipe_signal, nullptr, &at_once), SIGPIPE);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(LogTest, FileAtItsSizeLimitKillsNothing) {
    ASSERT_EQ(::signal(SIGXFSZ, SIG_DFL), SIG_DFL) << "the default would end this process";
    const CapturedStderr captured;
    line("first");
    const std::string state = signal_state();
    const auto before = lost();
    {
        const SoftLimit full(RLIMIT_FSIZE, captured.text().size());
        line("second");
    }
    EXPECT_EQ(signal_state(), state);
    EXPECT_EQ(lost(), before + 1);
    EXPECT_EQ(captured.text(), "keepgraph: first\n");
}

TEST_F(LogTest, FullNonBlockingPipeIsGivenUpAndUsedAgainWhenRead) {
    Pipe pipe(O_NONBLOCK);
    pipe.fill();
    const auto before = lost();
    {
        const StderrAs as(pipe.ends[1]);
        line("no room");
        line("no room, and not waited for");
        EXPECT_EQ(lost(), before + 2);
        pipe.drain();
        line("room again");
    }
    EXPECT_EQ(lost(), before + 2);
    EXPECT_EQ(pipe.drain(), "keepgraph: room again\n");
}

TEST_F(LogTest, LineThatWasCutDoesNotRunIntoTheNext) {
    Pipe pipe(O_NONBLOCK);
    const auto before = lost();
    std::string cut;
    {
        const StderrAs as(pipe.ends[1]);
        line(std::string(200000, 'x'));
        cut = pipe.drain();
        line("whole");
    }
    EXPECT_EQ(lost(), before + 1);
    EXPECT_GT(cut.size(), 4096u);
    EXPECT_EQ(cut.find('\n'), std::string::npos);
    EXPECT_EQ(pipe.drain(), "\nkeepgraph: whole\n");
}

TEST_F(LogTest, FullNonBlockingPipeIsWaitedFor) {
    // The reader reads only while the writer sleeps, so a line that arrives was waited for. A machine that stalls the
    // reader for the whole of the patience costs that try, not the test.
    bool waited = false;
    for (int attempt = 0; attempt < 50 && !waited; ++attempt) {
        Pipe pipe(O_NONBLOCK);
        const StderrAs as(pipe.ends[1]);
        line("whatever was stuck before is not now");
        pipe.fill();
        const auto before = lost();
        std::atomic<bool> done{false};
        const Sleep writer(::syscall(SYS_gettid));
        std::thread reader([&] {
            while (!done && !writer.now())
                std::this_thread::yield();
            if (!done)
                pipe.drain();
        });
        line("after the wait");
        done = true;
        waited = lost() == before;
        reader.join();
    }
    EXPECT_TRUE(waited);
}

TEST_F(LogTest, ThreadsDoNotMixTheirLines) {
    const CapturedStderr captured;
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([t] {
            for (int i = 0; i < 200; ++i)
                line(std::to_string(t) + std::string(100, static_cast<char>('a' + t)));
        });
    for (auto& thread : threads)
        thread.join();
    std::istringstream lines(captured.text());
    std::size_t count = 0;
    for (std::string text; std::getline(lines, text); ++count) {
        ASSERT_EQ(text.size(), 112u) << text;
        EXPECT_EQ(text.substr(12), std::string(100, static_cast<char>('a' + (text[11] - '0'))));
    }
    EXPECT_EQ(count, 1600u);
}

TEST_F(LogTest, PendingCancellationActsAfterTheLine) {
    const CapturedStderr captured;
    static std::atomic<bool> behind;
    behind = false;
    pthread_t thread;
    pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
            pthread_cancel(pthread_self());
            line("last words");
            behind = true;
            pthread_testcancel();
            return nullptr;
        },
        nullptr);
    void* result = nullptr;
    pthread_join(thread, &result);
    EXPECT_TRUE(behind);
    EXPECT_EQ(result, PTHREAD_CANCELED);
    EXPECT_EQ(captured.text(), "keepgraph: last words\n");
}

TEST_F(LogTest, NoMemoryCostsNoLine) {
    const CapturedStderr captured;
    const auto before = lost();
    const std::string large(100000, 'x');
    {
        const NoMemory none;
        line(large);
        line("two\nlines");
    }
    EXPECT_EQ(lost(), before);
    EXPECT_EQ(captured.text(), "keepgraph: " + large + "\nkeepgraph: two\nkeepgraph: lines\n");
}

TEST_F(LogTest, WithoutMemoryWhatGoesOutAtOnceEndsWithALine) {
    line("the logger is made");
    std::string text = "finding";
    for (int i = 0; i < 100; ++i)
        text += "\n    frame " + std::to_string(i) + std::string(50, '.');
    Pipe pipe(O_DIRECT);
    {
        const StderrAs as(pipe.ends[1]);
        const NoMemory none;
        line(text);
    }
    ::fcntl(pipe.ends[0], F_SETFL, O_NONBLOCK);
    std::string all;
    int packets = 0;
    char packet[4096];
    for (ssize_t n; (n = ::read(pipe.ends[0], packet, sizeof packet)) > 0; ++packets) {
        all.append(packet, static_cast<std::size_t>(n));
        EXPECT_EQ(all.back(), '\n') << "another thread's line would stand in the middle of this one: " << all;
    }
    EXPECT_GT(packets, 1) << "there was memory after all";
    EXPECT_EQ(all.size(), text.size() + 101 * std::string("keepgraph: ").size() + 1);
}

TEST_F(LogTest, NoMemoryForTheLoggerCostsNoLine) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // in a process that has no logger yet
    EXPECT_EXIT(
        {
            const NoMemory none;
            line("out of memory");
            say(config::LogLevel::warn, "the level is not known");
            _exit(static_cast<int>(lost()));
        },
        testing::ExitedWithCode(1), "keepgraph: out of memory\n$");
}

// What descriptor 2 is at the start is remembered once per process: each case has its own.
int lines_lost_after_remembering(int at_the_start, int later) {
    const StderrAs start(at_the_start);
    remember_stderr();
    const StderrAs moved(later);
    const auto before = lost();
    line("here");
    return static_cast<int>(lost() - before);
}

TEST_F(LogTest, OnlyAStderrGetsLines) {
    const unit_tests::Scratch scratch;
    const auto open_file = [&](const char* name, int flags) {
        return ::open((scratch / name).c_str(), flags | O_CREAT, 0600);
    };
    const auto expect = [&](int at_the_start, int later, int lines) {
        const pid_t child = ::fork();
        if (child == 0)
            ::_exit(lines_lost_after_remembering(at_the_start, later));
        int status = -1;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(WEXITSTATUS(status), lines);
        EXPECT_TRUE(WIFEXITED(status));
    };
    const int start = open_file("start", O_WRONLY);
    const int data = open_file("data", O_RDWR);
    const int written = open_file("written", O_WRONLY);
    const int both_ways = open_file("both ways", O_RDWR | O_APPEND);
    const int log = open_file("log", O_WRONLY | O_APPEND);
    int sockets[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    Pipe pipe(0);
    expect(start, start, 0);
    EXPECT_EQ(content(scratch / "start"), "keepgraph: here\n");
    expect(start, log, 0);
    EXPECT_EQ(content(scratch / "log"), "keepgraph: here\n");
    for (const int other : {data, written, both_ways, sockets[0], pipe.ends[1], pipe.ends[0], -1}) {
        SCOPED_TRACE(other);
        expect(start, other, 1);
        expect(-1, other, 1);
    }
    expect(-1, log, 1);
    for (const char* name : {"data", "written", "both ways"})
        EXPECT_EQ(content(scratch / name), "") << name;
    EXPECT_EQ(pipe.drain(), "");
    EXPECT_EQ(content(scratch / "log"), "keepgraph: here\n");
    // Of two pipes and sockets of one kind each is another file.
    Pipe second(0);
    expect(pipe.ends[1], second.ends[1], 1);
    expect(sockets[0], sockets[1], 1);
    // What stdout is, too.
    const int kept = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 100);
    ::dup2(written, STDOUT_FILENO);
    expect(start, written, 0);
    expect(start, data, 1);
    const int again = open_file("written", O_RDWR);
    expect(start, again, 1);
    ::dup2(kept, STDOUT_FILENO);
    ::close(kept);
    EXPECT_EQ(content(scratch / "written"), "keepgraph: here\n");
    for (const int fd : {start, data, written, both_ways, log, sockets[0], sockets[1], again})
        ::close(fd);
}

TEST_F(LogTest, AllHeldLeavesFaultsAndSandboxesAlone) {
    static std::atomic<int> handled;
    handled = 0;
    const auto before = ::signal(SIGUSR1, [](int) { ++handled; });
    {
        const HeldSignals held(HeldSignals::Which::all);
        ::raise(SIGUSR1);
        EXPECT_EQ(handled, 0);
        sigset_t blocked;
        pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
        for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS})
            EXPECT_EQ(sigismember(&blocked, fault), 0) << fault;
    }
    EXPECT_EQ(handled, 1);
    ::signal(SIGUSR1, before);
}

}  // namespace
}  // namespace keepgraph::log
