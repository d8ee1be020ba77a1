// SPDX-License-Identifier: Apache-2.0
// Which way capture_python chooses, by an interpreter that consists of a few functions. Real ones:
// tests/preload/python.
#include "trace/python_stack.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <string>

namespace keepgraph::trace {
namespace {

/// The made-up interpreter; a name missing from `symbols` is one that the version does not export.
struct Fake {
    std::map<std::string, void*> symbols;
    int initialized = 1;
    int finalizing = 0;
    void* own = &own_state;
    void* current = nullptr;
    unsigned long version = 0x030b07f0;
    std::string version_text;
    // As large as a thread state of 3.10 and 3.11, with the owner's id at 176 and 152.
    unsigned long own_state[64] = {};
    unsigned long other_state[64] = {};
} fake;

void dump(int fd, void* state) {
    const std::string text =
        std::string("  File \"") + (state == fake.own_state ? "own" : "other") + "\", line 4 in f\n";
    (void)!write(fd, text.data(), text.size());
}

template <typename Function>
void* address_of(Function* function) {
    return reinterpret_cast<void*>(function);
}

class PythonStackTest : public testing::Test {
  protected:
    void SetUp() override {
        fake = Fake{};
        fake.own = fake.own_state;
        fake.symbols = {
            {"PyGILState_GetThisThreadState", address_of(+[] { return fake.own; })},
            {"_PyThreadState_UncheckedGet", address_of(+[] { return fake.current; })},
            {"Py_IsInitialized", address_of(+[] { return fake.initialized; })},
            {"_Py_IsFinalizing", address_of(+[] { return fake.finalizing; })},
            {"_Py_DumpTraceback", address_of(&dump)},
            {"Py_Version", &fake.version},
            {"Py_GetVersion", address_of(+[] { return fake.version_text.c_str(); })},
        };
        choose();
    }
    void TearDown() override { set_symbol_lookup(nullptr); }

    /// Makes capture_python look again.
    static void choose() {
        set_symbol_lookup([](const char* name) -> void* {
            const auto it = fake.symbols.find(name);
            return it == fake.symbols.end() ? nullptr : it->second;
        });
    }
};

TEST_F(PythonStackTest, UsesTheDumpWhereItIsExported) {
    const auto stack = capture_python();
    ASSERT_EQ(stack.frames.size(), 1u);
    EXPECT_EQ(stack.frames[0], (PythonFrame{"own", 4, "f"}));
    EXPECT_EQ(stack.unavailable, "");
}

TEST_F(PythonStackTest, ProcessWithoutPythonHasNothingToSay) {
    fake.symbols.clear();
    choose();
    EXPECT_EQ(capture_python(), PythonStack{});
    set_symbol_lookup(nullptr);  // this test program itself links no Python
    EXPECT_EQ(capture_python(), PythonStack{});
}

TEST_F(PythonStackTest, BeforeAndAfterTheInterpreterThereIsNothing) {
    fake.initialized = 0;
    EXPECT_EQ(capture_python(), PythonStack{});
    fake.initialized = 1;
    fake.finalizing = 1;
    EXPECT_EQ(capture_python(), PythonStack{});
    fake.finalizing = 0;
    EXPECT_EQ(capture_python().frames.size(), 1u);
}

TEST_F(PythonStackTest, ThreadThatRunsNoPythonHasNothingToSay) {
    fake.own = nullptr;
    EXPECT_EQ(capture_python(), PythonStack{});
}

TEST_F(PythonStackTest, VersionsWithoutAnyWaySayWhy) {
    fake.symbols.erase("_Py_DumpTraceback");
    fake.symbols.erase("Py_Version");
    fake.version_text = "3.9.18 (main, Jan  1 2024) [GCC 12.2.0]";
    choose();
    EXPECT_EQ(capture_python().unavailable, "python frames unavailable: CPython 3.9 exports no traceback dump");
    EXPECT_TRUE(capture_python().frames.empty());

    fake.symbols["Py_Version"] = &fake.version;
    fake.version = 0x030f00f0;
    choose();
    EXPECT_EQ(capture_python().unavailable,
              "python frames unavailable: CPython 3.15: this version's debug offsets are not known");

    fake.version = 0x030d00f0;  // 3.13, but no _PyRuntime
    choose();
    EXPECT_EQ(capture_python().unavailable, "python frames unavailable: CPython 3.13: _PyRuntime is not readable");

    char runtime[1024] = "not debug offsets";
    fake.symbols["_PyRuntime"] = runtime;
    choose();
    EXPECT_EQ(capture_python().unavailable,
              "python frames unavailable: CPython 3.13: _PyRuntime does not begin with debug offsets");

    fake.symbols.erase("Py_Version");
    fake.version_text = "gibberish";
    choose();
    EXPECT_NE(capture_python().unavailable, "");
}

TEST_F(PythonStackTest, ThreadThatRunsNoPythonGetsNoReasonEither) {
    fake.symbols.erase("_Py_DumpTraceback");
    fake.own = nullptr;
    choose();
    EXPECT_EQ(capture_python(), PythonStack{});
}

TEST_F(PythonStackTest, CurrentStateWinsFrom312OnSinceItIsTheThreadsOwn) {
    fake.version = 0x030c01f0;
    fake.current = fake.other_state;
    choose();
    EXPECT_EQ(capture_python().frames.at(0).file, "other");
}

TEST_F(PythonStackTest, CurrentStateOfAnotherThreadIsNotTaken) {
    fake.current = fake.other_state;
    fake.other_state[152 / sizeof(long)] = static_cast<unsigned long>(pthread_self()) + 1;
    EXPECT_EQ(capture_python().frames.at(0).file, "own");
    fake.other_state[152 / sizeof(long)] = static_cast<unsigned long>(pthread_self());
    EXPECT_EQ(capture_python().frames.at(0).file, "other") << "a sub-interpreter of this thread holds the GIL";
    fake.current = reinterpret_cast<void*>(64);  // freed meanwhile
    EXPECT_EQ(capture_python().frames.at(0).file, "own");
}

TEST_F(PythonStackTest, LeavesErrnoAndCancellationAlone) {
    errno = 4711;
    capture_python();
    EXPECT_EQ(errno, 4711);
    int state = -1;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    EXPECT_EQ(state, PTHREAD_CANCEL_ENABLE);
}

// In a frame of its own: AddressSanitizer does not clean up the frames that a cancellation unwinds.
__attribute__((noinline)) int count_frames() {
    return static_cast<int>(capture_python().frames.size());
}

// write() and read() are cancellation points; acting on a request there would unwind through a noexcept function.
TEST_F(PythonStackTest, PendingCancellationWaitsForTheProgramsOwnPoint) {
    static int captured;
    captured = 0;
    pthread_t thread;
    ASSERT_EQ(pthread_create(
                  &thread, nullptr,
                  [](void*) -> void* {
                      pthread_cancel(pthread_self());
                      captured = count_frames();
                      pthread_testcancel();
                      captured = -1;
                      return nullptr;
                  },
                  nullptr),
              0);
    void* result = nullptr;
    pthread_join(thread, &result);
    EXPECT_EQ(result, PTHREAD_CANCELED);
    EXPECT_EQ(captured, 1);
}

}  // namespace
}  // namespace keepgraph::trace
