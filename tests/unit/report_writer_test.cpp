// SPDX-License-Identifier: Apache-2.0
// What the writer writes, and what a program can do to it: descriptors, threads, forks, working folder, signals.
#include "report/writer.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "no_memory.h"
#include "scratch.h"

namespace keepgraph::report {
namespace {

namespace fs = std::filesystem;
using unit_tests::CapturedStderr;
using unit_tests::content;
using unit_tests::descriptor_of;
using unit_tests::lowest_free_descriptor;
using unit_tests::NoMemory;
using unit_tests::put;
using unit_tests::Scratch;
using unit_tests::signal_state;

using Parsed = nlohmann::ordered_json;  // what was written must be JSON to others too

constexpr std::uint64_t plenty = 64 << 20;

struct ReportWriterTest : testing::Test {
    std::unique_ptr<Writer> make(const std::string& name = "recording") {
        auto writer = Writer::make(scratch / name, plenty, {{"schema", 1}}, problem);
        EXPECT_NE(writer, nullptr) << problem;
        return writer;
    }
    std::vector<Parsed> lines() const {
        const std::string text = content(events);
        EXPECT_TRUE(text.empty() || text.back() == '\n') << "the last line is cut";
        std::vector<Parsed> all;
        std::istringstream in(text);
        for (std::string line; std::getline(in, line);)
            all.push_back(Parsed::parse(line));
        return all;
    }
    Scratch scratch;
    std::string events = scratch / "recording/events.jsonl";
    std::string problem;
};

TEST_F(ReportWriterTest, FolderIsMadeWithParentsManifestAndTheUmaskOfTheProgram) {
    const mode_t before = ::umask(027);
    const auto writer = Writer::make(scratch / "a/b/run", plenty, {{"schema", 1}, {"pid", 7}}, problem);
    EXPECT_EQ(::umask(before), 027u) << "the umask was changed";
    ASSERT_NE(writer, nullptr) << problem;
    EXPECT_EQ(writer->folder(), scratch / "a/b/run");
    EXPECT_EQ(Parsed::parse(content(scratch / "a/b/run/manifest.json")), (Parsed{{"schema", 1}, {"pid", 7}}));
    EXPECT_TRUE(fs::exists(scratch / "a/b/run/events.jsonl"));
    for (const char* folder : {"a", "a/b", "a/b/run"})
        EXPECT_EQ(fs::status(scratch / folder).permissions(), fs::perms(0750)) << folder;
    EXPECT_EQ(fs::status(scratch / "a/b/run/events.jsonl").permissions(), fs::perms(0640));
    EXPECT_EQ(std::distance(fs::directory_iterator(scratch / "a/b/run"), {}), 2) << "something else was left there";
}

TEST_F(ReportWriterTest, CommonKeysAreInFront) {
    const auto start = Writer::Clock::now() - std::chrono::hours(1);
    const auto writer = Writer::make(scratch / "recording", plenty, {}, problem, start);
    ASSERT_NE(writer, nullptr) << problem;
    EXPECT_TRUE(writer->event("notice", {{"text", "x\ny"}, {"t", -1}, {"type", "other"}, {"thread", "z"}}));
    EXPECT_TRUE(writer->event("bare", nullptr));
    const auto all = lines();
    ASSERT_EQ(all.size(), 2u);
    std::vector<std::string> keys;
    for (const auto& [key, value] : all[0].items())
        keys.push_back(key);
    EXPECT_EQ(keys, (std::vector<std::string>{"type", "t", "thread", "text"}));
    EXPECT_EQ(all[0]["type"], "notice");
    EXPECT_EQ(all[0]["text"], "x\ny");
    EXPECT_EQ(all[0]["thread"], ::syscall(SYS_gettid));
    EXPECT_GE(all[0]["t"], 3600.0);
    EXPECT_LE(all[0]["t"], writer->seconds(Writer::Clock::now()));
    EXPECT_EQ(all[1].size(), 3u);
}

TEST_F(ReportWriterTest, EventThatCameEarlierKeepsItsTimeAndItsThread) {
    const auto start = Writer::Clock::now() - std::chrono::hours(1);
    const auto writer = Writer::make(scratch / "recording", plenty, {}, problem, start);
    ASSERT_NE(writer, nullptr) << problem;
    EXPECT_TRUE(writer->event({"notice", {{"t", 3}}, Writer::Event::Origin{start + std::chrono::microseconds(7), 5}}));
    EXPECT_NE(content(events).find(R"({"type":"notice","t":0.000007,"thread":5})"), std::string::npos)
        << content(events);
}

TEST_F(ReportWriterTest, TextThatIsNotUtf8IsReplaced) {
    const auto writer = make();
    EXPECT_TRUE(writer->event("notice", {{"text", "a\xff"}}));
    EXPECT_EQ(lines().at(0)["text"], "a\xef\xbf\xbd");
}

TEST_F(ReportWriterTest, FolderThatExistsIsLeftAloneAndANumberIsAdded) {
    {
        const auto first = make();
        first->event("first", {});
    }
    const std::string before = content(events);
    const auto second = make("recording/");
    EXPECT_EQ(second->folder(), scratch / "recording-1");
    EXPECT_EQ(make()->folder(), scratch / "recording-2");
    EXPECT_TRUE(second->event("second", {}));
    EXPECT_EQ(content(events), before);
    EXPECT_NE(content(scratch / "recording-1/events.jsonl").find("second"), std::string::npos);
}

TEST_F(ReportWriterTest, DescriptorIsOutOfTheWay) {
    const int before = lowest_free_descriptor();
    const auto writer = make();
    EXPECT_TRUE(writer->event("a", {}));
    EXPECT_TRUE(writer->file("graph-1.json", "{}"));
    EXPECT_EQ(lowest_free_descriptor(), before);
    const int fd = descriptor_of(events);
    EXPECT_GE(fd, 400);
    EXPECT_EQ(::fcntl(fd, F_GETFD), FD_CLOEXEC);
    EXPECT_NE(::fcntl(fd, F_GETFL) & O_APPEND, 0);
}

TEST_F(ReportWriterTest, ProgramMayCloseTheDescriptor) {
    const auto writer = make();
    EXPECT_TRUE(writer->event("before", {}));
    ASSERT_EQ(::close(descriptor_of(events)), 0);
    EXPECT_TRUE(writer->event("after", {}));
    EXPECT_EQ(lines().size(), 2u);
    EXPECT_GE(descriptor_of(events), 400);
}

TEST_F(ReportWriterTest, ProgramMayReuseTheNumber) {
    put(scratch / "theirs", "theirs\n");
    const int theirs = ::open((scratch / "theirs").c_str(), O_RDWR | O_APPEND);
    int number = -1;
    {
        const auto writer = make();
        EXPECT_TRUE(writer->event("before", {}));
        number = descriptor_of(events);
        ASSERT_EQ(::dup2(theirs, number), number);
        EXPECT_TRUE(writer->event("after", {}));
        EXPECT_NE(descriptor_of(events), number);
        EXPECT_EQ(lines().size(), 2u);
    }
    EXPECT_EQ(content(scratch / "theirs"), "theirs\n");
    EXPECT_EQ(::write(number, "still open", 10), 10) << "the program's descriptor was closed";
    ::close(number);
    ::close(theirs);
}

TEST_F(ReportWriterTest, NumberThatIsTakenWhenTheWriterGoesIsNotClosed) {
    auto writer = make();
    const int number = descriptor_of(events);
    const int theirs = ::open("/dev/null", O_WRONLY);
    ASSERT_EQ(::dup2(theirs, number), number);
    writer.reset();
    EXPECT_EQ(::close(number), 0);
    ::close(theirs);
}

class ReportWriterReplaced : public ReportWriterTest, public testing::WithParamInterface<const char*> {};

TEST_P(ReportWriterReplaced, NothingIsWrittenToWhatTookThePlaceOfTheFile) {
    const CapturedStderr captured;
    const auto writer = make();
    put(scratch / "theirs", "theirs\n");
    ASSERT_EQ(::close(descriptor_of(events)), 0);
    fs::rename(events, scratch / "moved");  // so that its inode is not given to the new file
    const std::string what = GetParam();
    if (what == "symlink")
        fs::create_symlink(scratch / "theirs", events);
    else if (what == "file")
        fs::copy_file(scratch / "theirs", events);
    else if (what == "hard link")
        fs::create_hard_link(scratch / "theirs", events);
    else if (what == "pipe without a reader")
        ASSERT_EQ(::mkfifo(events.c_str(), 0666), 0);
    else if (what == "folder")
        fs::create_directory(events);
    EXPECT_FALSE(writer->event("lost", {}));
    EXPECT_FALSE(writer->event("lost too", {}));
    EXPECT_EQ(content(scratch / "theirs"), "theirs\n");
    if (what == "file") {
        EXPECT_EQ(content(events), "theirs\n");
    }
    EXPECT_EQ(content(scratch / "moved"), "");
    EXPECT_EQ(writer->losses().events, 2u);
    const std::string said = captured.text();
    EXPECT_NE(said.find(writer->folder()), std::string::npos) << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

INSTANTIATE_TEST_SUITE_P(By, ReportWriterReplaced,
                         testing::Values("symlink", "file", "hard link", "pipe without a reader", "folder", "nothing"),
                         [](const auto& info) {
                             std::string name = info.param;
                             std::replace(name.begin(), name.end(), ' ', '_');
                             return name;
                         });

TEST_F(ReportWriterTest, OtherFolderOfTheSameNameGetsNothing) {
    const CapturedStderr captured;
    const auto writer = make();
    EXPECT_TRUE(writer->event("before", {}));
    fs::rename(scratch / "recording", scratch / "moved");
    fs::create_directory(scratch / "recording");
    EXPECT_FALSE(writer->file("graph-1.json", "{}"));
    EXPECT_TRUE(writer->event("after", {})) << "the descriptor still leads to the right file";
    EXPECT_TRUE(fs::is_empty(scratch / "recording"));
    EXPECT_EQ(std::distance(fs::directory_iterator(scratch / "moved"), {}), 2);
    EXPECT_NE(captured.text().find("graph-1.json"), std::string::npos);
}

TEST_F(ReportWriterTest, FileIsReplacedWhole) {
    const auto writer = make();
    EXPECT_TRUE(writer->file("graph-1.json", "old and longer"));
    put(scratch / "recording/.graph-1.json.part", "left by a failure");
    EXPECT_TRUE(writer->file("graph-1.json", "new"));
    EXPECT_EQ(content(scratch / "recording/graph-1.json"), "new");
    EXPECT_EQ(std::distance(fs::directory_iterator(scratch / "recording"), {}), 3);
}

TEST_F(ReportWriterTest, NamesStayInsideTheFolderAndOffTheEvents) {
    const CapturedStderr captured;
    const auto writer = make();
    for (const char* name : {"", ".", "..", "../out", "a/b", "/tmp/out", "events.jsonl", ".hidden"})
        EXPECT_FALSE(writer->file(name, "x")) << name;
    EXPECT_EQ(writer->losses().files, 8u);
    EXPECT_FALSE(fs::exists(scratch / "out"));
}

TEST_F(ReportWriterTest, EightThreads) {
    const auto writer = make();
    std::vector<std::thread> threads;
    std::atomic<unsigned> failed{0};
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 500; ++i) {
                std::vector<Writer::Event> both;
                both.push_back({"stack", {{"id", t * 500 + i}}});
                both.push_back({"finding", {{"id", t * 500 + i}, {"text", std::string(static_cast<size_t>(i), 'x')}}});
                if (!writer->events(std::move(both)))
                    ++failed;
                if (i % 100 == 0 && !writer->file("graph-" + std::to_string(t) + ".json", "{}"))
                    ++failed;
            }
        });
    for (auto& thread : threads)
        thread.join();
    EXPECT_EQ(failed, 0u);
    const auto all = lines();
    ASSERT_EQ(all.size(), 8000u);
    double before = 0;
    std::map<long, int> next;  // by thread: the next number it must write
    for (std::size_t i = 0; i < all.size(); i += 2) {
        ASSERT_EQ(all[i]["type"], "stack");
        ASSERT_EQ(all[i + 1]["type"], "finding");
        ASSERT_EQ(all[i]["id"], all[i + 1]["id"]) << "another thread got between";
        ASSERT_EQ(all[i]["t"], all[i + 1]["t"]);
        ASSERT_GE(all[i]["t"].get<double>(), before);
        before = all[i]["t"];
        EXPECT_EQ(all[i]["id"].get<int>() % 500, next[all[i]["thread"]]++);
    }
    EXPECT_EQ(next.size(), 8u);
}

TEST_F(ReportWriterTest, ForkedChildWritesNothing) {
    const CapturedStderr captured;
    const auto writer = make();
    EXPECT_TRUE(writer->event("before", {}));
    // A thread that writes all the time: some child is forked while it holds the lock, and must not wait for it.
    std::atomic<bool> done{false};
    std::thread busy([&] {
        while (!done)
            writer->file("other", std::string(10000, 'x'));
    });
    for (int i = 0; i < 20; ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            ::alarm(60);  // a child that hangs ends by this
            const bool wrote = writer->event("child", {}) || writer->file("graph-1.json", "child");
            ::_exit(wrote ? 1 : 0);
        }
        int status = -1;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status)) << status;
        EXPECT_EQ(WEXITSTATUS(status), 0);
    }
    done = true;
    busy.join();
    EXPECT_TRUE(writer->event("after", {}));
    EXPECT_EQ(lines().size(), 2u);
    EXPECT_FALSE(fs::exists(scratch / "recording/graph-1.json"));
    EXPECT_EQ(captured.text(), "");
}

TEST_F(ReportWriterTest, WorkingFolderSignalsAndErrnoStayThePrograms) {
    const fs::path home = fs::current_path();
    sigset_t some, before;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR2);
    sigaddset(&some, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &some, &before);
    const std::string state = signal_state();
    errno = 77;
    const auto writer = make();
    EXPECT_EQ(errno, 77);
    EXPECT_EQ(signal_state(), state);
    fs::current_path(scratch / "");
    ASSERT_EQ(::close(descriptor_of(events)), 0);
    errno = 78;
    EXPECT_TRUE(writer->event("a", {}));
    EXPECT_TRUE(writer->file("graph-1.json", "{}"));
    EXPECT_EQ(errno, 78);
    EXPECT_EQ(signal_state(), state);
    EXPECT_EQ(fs::current_path(), fs::path(scratch / "").parent_path());
    fs::current_path(home);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    EXPECT_EQ(lines().size(), 1u);
}

TEST_F(ReportWriterTest, PendingCancellationActsAfterTheEvent) {
    static Writer* writer;
    static std::atomic<bool> behind;
    const auto made = make();
    writer = made.get();
    behind = false;
    pthread_t thread;
    pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
            pthread_cancel(pthread_self());
            behind = writer->event("last", {}) && writer->file("graph-1.json", "{}");
            pthread_testcancel();
            return nullptr;
        },
        nullptr);
    void* result = nullptr;
    pthread_join(thread, &result);
    EXPECT_TRUE(behind);
    EXPECT_EQ(result, PTHREAD_CANCELED);
    EXPECT_TRUE(made->event("the lock is free", {}));
}

TEST_F(ReportWriterTest, NoMemoryCostsTheEventOnly) {
    const CapturedStderr captured;
    const auto writer = make();
    const std::string name = "graph-1.json";
    std::string folder = scratch / "other";
    const Json manifest;
    bool wrote = true, made = true;
    {
        const NoMemory none;
        wrote = writer->event("lost", {}) || writer->file(name, "{}");
        made = Writer::make(folder, plenty, manifest, problem) != nullptr;
    }
    EXPECT_FALSE(wrote);
    EXPECT_FALSE(made);
    EXPECT_FALSE(fs::exists(folder));
    EXPECT_TRUE(writer->event("after", {}));
    EXPECT_EQ(lines().size(), 1u);
    EXPECT_EQ(writer->losses().events, 1u);
}

}  // namespace
}  // namespace keepgraph::report
