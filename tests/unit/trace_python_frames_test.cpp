// SPDX-License-Identifier: Apache-2.0
// Walking frames of CPython 3.10, 3.13 and 3.14 in memory images made here. Real interpreters are met by
// tests/preload/python; 3.14, free-threaded builds and damaged images only here.
#include "trace/python_frames.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "trace/python_layout.h"
#include "trace/safe_read.h"

namespace keepgraph::trace {
namespace {

constexpr unsigned long final_3_13_0 = 0x030d00f0;
constexpr unsigned long final_3_14_0 = 0x030e00f0;

/// The self-description at the start of _PyRuntime, group by group as the two versions' headers list it.
template <int InterpreterWords, int FrameWords, int CodeWords, int WordsBetweenTypeAndBytes>
struct DebugOffsets {
    char cookie[8] = {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'};
    std::uint64_t version = 0, free_threaded = 0;
    std::uint64_t runtime[3] = {400000, 640, 648};
    std::uint64_t interpreter[InterpreterWords] = {500000};
    std::uint64_t thread[9] =
        {};  // size, prev, next, interp, current_frame, thread_id, native_thread_id, chunk, status
    std::uint64_t frame[FrameWords] = {};  // size, previous, executable, instr_ptr, localsplus, owner[, sp, tlbc_index]
    std::uint64_t code[CodeWords] = {};    // size, filename, name, qualname, linetable, firstlineno, argcount,
                                           // localsplusnames, localspluskinds, co_code_adaptive[, co_tlbc]
    std::uint64_t object[2] = {16, 8};
    std::uint64_t type[4] = {};
    std::uint64_t between[WordsBetweenTypeAndBytes] = {};  // tuple 3, list 3[, set 4], dict 3, float 2, int 3
    std::uint64_t bytes[3] = {40, 16, 32};                 // size, ob_size, ob_sval
    std::uint64_t text[4] = {64, 32, 16, 40};              // size, state, length, asciiobject_size
    std::uint64_t collector[2] = {};
};
using DebugOffsets313 = DebugOffsets<13, 6, 10, 3 + 3 + 3 + 2 + 3>;
using DebugOffsets314 = DebugOffsets<16, 8, 11, 3 + 3 + 4 + 3 + 2 + 3>;

/// Fills the offsets with places that no real build has, so that a constant in the code under test cannot pass.
template <typename Offsets>
Offsets invented_offsets(unsigned long version) {
    Offsets offsets;
    offsets.version = version;
    const std::uint64_t thread[9] = {512, 8, 16, 24, 120, 128, 136, 144, 152};
    std::memcpy(offsets.thread, thread, sizeof thread);
    const std::uint64_t frame[8] = {112, 24, 40, 64, 96, 83, 72, 76};
    std::memcpy(offsets.frame, frame, sizeof offsets.frame);
    const std::uint64_t code[11] = {400, 88, 104, 112, 136, 68, 28, 72, 80, 200, 160};
    std::memcpy(offsets.code, code, sizeof offsets.code);
    return offsets;
}

/// Zeroed objects that live as long as the image.
class Image {
  public:
    unsigned char* object(std::size_t size) {
        objects_.push_back(std::make_unique<std::vector<unsigned char>>(size + 64));
        const auto start = reinterpret_cast<std::uintptr_t>(objects_.back()->data());
        return reinterpret_cast<unsigned char*>((start + 15) & ~std::uintptr_t{15});  // aligned as Python's are
    }
    std::vector<std::unique_ptr<std::vector<unsigned char>>>& objects() { return objects_; }

  private:
    std::vector<std::unique_ptr<std::vector<unsigned char>>> objects_;
};

template <typename T>
void put(unsigned char* object, std::size_t offset, T value) {
    std::memcpy(object + offset, &value, sizeof value);
}

std::uintptr_t address(const void* object) {
    return reinterpret_cast<std::uintptr_t>(object);
}

/// A str object: kind 1, 2 or 4 bytes per character.
unsigned char* make_text(Image& image, const PythonLayout& layout, const std::u32string& text) {
    char32_t widest = 0;
    for (const char32_t c : text) {
        widest = std::max(widest, c);
    }
    const unsigned kind = widest < 0x100 ? 1 : widest < 0x10000 ? 2 : 4;
    const bool ascii = widest < 0x80;
    unsigned char* object = image.object(80 + text.size() * kind);
    put<std::int64_t>(object, layout.text_length, static_cast<std::int64_t>(text.size()));
    put<std::uint32_t>(object, layout.text_state, ((ascii ? 0x10u : 0u) | 0x8u | kind) << layout.text_kind_shift | 1u);
    unsigned char* data = object + (ascii ? layout.text_ascii_data : layout.text_compact_data);
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<std::uint32_t>(text[i]);
        std::memcpy(data + i * kind, &c, kind);
    }
    return object;
}

unsigned char* make_bytes(Image& image, const PythonLayout& layout, const std::vector<unsigned char>& bytes) {
    unsigned char* object = image.object(48 + bytes.size());
    put<std::int64_t>(object, layout.bytes_size, static_cast<std::int64_t>(bytes.size()));
    std::memcpy(object + layout.bytes_data, bytes.data(), bytes.size());
    return object;
}

/// A code object whose 2-byte instructions 0, 1, 2, ... stand on lines first, first + 1, ...
unsigned char* make_code(Image& image, const PythonLayout& layout, const std::u32string& file,
                         const std::u32string& name, int first_line) {
    std::vector<unsigned char> table;
    for (int i = 0; i < 10; ++i) {
        if (layout.lines == PythonLayout::Lines::pairs) {
            table.insert(table.end(), {2, static_cast<unsigned char>(i == 0 ? 0 : 1)});
        } else {  // form 13, length 1; then the line's step as a signed varint
            table.insert(table.end(), {0x80 | (13 << 3), static_cast<unsigned char>(i == 0 ? 0 : 2)});
        }
    }
    unsigned char* code = image.object(400);
    put(code, layout.object_type, layout.code_type);
    put(code, layout.code_file, address(make_text(image, layout, file)));
    put(code, layout.code_name, address(make_text(image, layout, name)));
    put(code, layout.code_first_line, first_line);
    put(code, layout.code_lines, address(make_bytes(image, layout, table)));
    return code;
}

/// A frame in `code` at instruction number `instruction`; `mark` is put into the low bits of the reference to the code.
unsigned char* make_frame(Image& image, const PythonLayout& layout, unsigned char* code, int instruction,
                          unsigned char* previous, unsigned char owner = 0, std::uintptr_t mark = 0) {
    unsigned char* frame = image.object(128);
    put(frame, layout.frame_code, address(code) | mark);
    put(frame, layout.frame_previous, address(previous));
    if (layout.lines == PythonLayout::Lines::pairs) {
        put<std::int32_t>(frame, layout.frame_position, instruction);
    } else {
        put(frame, layout.frame_position, address(code) + layout.code_instructions + 2 * instruction);
        put(frame, layout.frame_owner, owner);
    }
    return frame;
}

unsigned char* make_thread(Image& image, const PythonLayout& layout, unsigned char* frame) {
    unsigned char* thread = image.object(512);
    put(thread, layout.thread_frame, address(frame));
    return thread;
}

PythonLayout layout_from(const void* offsets, unsigned long version) {
    PythonLayout layout;
    std::string reason;
    EXPECT_TRUE(layout_from_debug_offsets(address(offsets), version, layout, reason)) << reason;
    layout.code_type = 0x1234567890;
    return layout;
}

PythonLayout layout_3_13() {
    static const auto offsets = invented_offsets<DebugOffsets313>(final_3_13_0);
    return layout_from(&offsets, final_3_13_0);
}

PythonLayout layout_3_14() {
    static const auto offsets = invented_offsets<DebugOffsets314>(final_3_14_0);
    return layout_from(&offsets, final_3_14_0);
}

PythonLayout layout_3_14_free_threaded() {
    static const auto offsets = [] {
        auto made = invented_offsets<DebugOffsets314>(final_3_14_0);
        made.free_threaded = 1;
        return made;
    }();
    return layout_from(&offsets, final_3_14_0);
}

PythonLayout layout_3_10() {
    PythonLayout layout = layout_of_3_10();
    layout.code_type = 0x1234567890;
    return layout;
}

PythonStack walk(const PythonLayout& layout, const unsigned char* thread) {
    PythonStack stack;
    walk_python_frames(layout, address(thread), stack);
    return stack;
}

std::string version_name(const testing::TestParamInfo<PythonLayout (*)()>& info) {
    const char* names[] = {"v3_10", "v3_13", "v3_14", "v3_14_free_threaded"};
    return names[info.index];
}

class PythonFramesTest : public testing::TestWithParam<PythonLayout (*)()> {};
INSTANTIATE_TEST_SUITE_P(Versions, PythonFramesTest,
                         testing::Values(layout_3_10, layout_3_13, layout_3_14, layout_3_14_free_threaded),
                         version_name);

TEST_P(PythonFramesTest, WalksInnermostFirst) {
    const PythonLayout layout = GetParam()();
    Image image;
    auto* outer = make_frame(image, layout, make_code(image, layout, U"main.py", U"<module>", 1), 0, nullptr);
    auto* middle =
        make_frame(image, layout, make_code(image, layout, U"/a/\u4e2d\u00e9.py", U"\u00fcber", 20), 3, outer);
    auto* inner = make_frame(image, layout, make_code(image, layout, U"/a/\U0001f600.py", U"f", 100), 9, middle);
    const auto stack = walk(layout, make_thread(image, layout, inner));
    ASSERT_EQ(stack.frames.size(), 3u) << stack.unavailable;
    EXPECT_EQ(stack.frames[0], (PythonFrame{"/a/\U0001f600.py", 109, "f"}));
    EXPECT_EQ(stack.frames[1], (PythonFrame{"/a/\u4e2d\u00e9.py", 23, "\u00fcber"}));
    EXPECT_EQ(stack.frames[2], (PythonFrame{"main.py", 1, "<module>"}));
    EXPECT_EQ(stack.unavailable, "");
}

TEST_P(PythonFramesTest, ThreadWithoutAFrameIsEmpty) {
    const PythonLayout layout = GetParam()();
    Image image;
    EXPECT_EQ(walk(layout, make_thread(image, layout, nullptr)), PythonStack{});
}

TEST_P(PythonFramesTest, EndlessRecursionIsCut) {
    const PythonLayout layout = GetParam()();
    Image image;
    auto* frame = make_frame(image, layout, make_code(image, layout, U"a.py", U"f", 5), 1, nullptr);
    put(frame, layout.frame_previous, address(frame));
    const auto stack = walk(layout, make_thread(image, layout, frame));
    EXPECT_EQ(stack.frames.size(), max_python_frames);
    EXPECT_EQ(stack.unavailable, "python frames incomplete: cut at the innermost 100");
}

TEST_P(PythonFramesTest, WildPointersGiveAReasonAndNoFault) {
    const PythonLayout layout = GetParam()();
    const std::string unreadable = "python frames unavailable: the interpreter's frames are not readable";
    void* guard = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (const std::uintptr_t wild : {std::uintptr_t{8}, ~std::uintptr_t{7}, std::uintptr_t{1} << 60, address(guard)}) {
        Image image;
        EXPECT_EQ(walk(layout, reinterpret_cast<unsigned char*>(wild)).unavailable, unreadable);
        auto* code = make_code(image, layout, U"a.py", U"f", 5);
        auto* frame = make_frame(image, layout, code, 1, nullptr);
        auto* thread = make_thread(image, layout, frame);
        put(thread, layout.thread_frame, wild);
        EXPECT_EQ(walk(layout, thread).unavailable, unreadable);
        put(thread, layout.thread_frame, address(frame));
        for (const std::size_t where : {layout.code_file, layout.code_name, layout.code_lines}) {
            std::uintptr_t saved;
            std::memcpy(&saved, code + where, sizeof saved);
            put(code, where, wild);
            EXPECT_EQ(walk(layout, thread).unavailable, unreadable);
            put(code, where, saved);
        }
        put(frame, layout.frame_code, wild);
        EXPECT_EQ(walk(layout, thread).unavailable, unreadable);
    }
    munmap(guard, 4096);
}

TEST_P(PythonFramesTest, KeepsTheGoodInnerFrames) {
    const PythonLayout layout = GetParam()();
    Image image;
    auto* code = make_code(image, layout, U"a.py", U"f", 5);
    auto* bad = make_frame(image, layout, make_code(image, layout, U"b.py", U"g", 5), 1, nullptr);
    auto* inner = make_frame(image, layout, code, 1, bad);
    put(bad, layout.frame_code, std::uintptr_t{64});
    auto stack = walk(layout, make_thread(image, layout, inner));
    ASSERT_EQ(stack.frames.size(), 1u);
    EXPECT_EQ(stack.frames[0], (PythonFrame{"a.py", 6, "f"}));
    EXPECT_EQ(stack.unavailable, "python frames incomplete: the interpreter's frames are not readable");

    put(inner, layout.frame_previous, std::uintptr_t{64});
    stack = walk(layout, make_thread(image, layout, inner));
    EXPECT_EQ(stack.frames.size(), 1u);
    EXPECT_EQ(stack.unavailable, "python frames incomplete: the interpreter's frames are not readable");
}

TEST_P(PythonFramesTest, WhatIsNoCodeObjectIsNotReadAsOne) {
    const PythonLayout layout = GetParam()();
    Image image;
    auto* code = make_code(image, layout, U"a.py", U"f", 5);
    put(code, layout.object_type, std::uintptr_t{42});
    const auto stack = walk(layout, make_thread(image, layout, make_frame(image, layout, code, 1, nullptr)));
    EXPECT_EQ(stack.unavailable, "python frames unavailable: the interpreter's frames have an unknown layout");
}

TEST_P(PythonFramesTest, InsaneLengthsAreRefused) {
    const PythonLayout layout = GetParam()();
    for (const std::int64_t length : {std::int64_t{-1}, std::int64_t{1} << 40, INT64_MAX, INT64_MIN}) {
        Image image;
        auto* code = make_code(image, layout, U"a.py", U"f", 5);
        auto* thread = make_thread(image, layout, make_frame(image, layout, code, 1, nullptr));
        for (const auto& [where, offset] :
             {std::pair{layout.code_file, layout.text_length}, std::pair{layout.code_lines, layout.bytes_size}}) {
            unsigned char* object;
            std::memcpy(&object, code + where, sizeof object);
            std::int64_t saved;
            std::memcpy(&saved, object + offset, sizeof saved);
            put(object, offset, length);
            EXPECT_EQ(walk(layout, thread).unavailable,
                      "python frames unavailable: the interpreter's frames have an unknown layout");
            put(object, offset, saved);
        }
    }
}

// Every byte of an image set to chosen values, and random damage: any answer is right, a fault or a hang is not.
TEST_P(PythonFramesTest, DamagedImagesNeverFault) {
    const PythonLayout layout = GetParam()();
    std::mt19937 random(20250101);
    for (int round = 0; round < 400; ++round) {
        Image image;
        auto* outer = make_frame(image, layout, make_code(image, layout, U"main.py", U"<module>", 1), 0, nullptr);
        auto* inner = make_frame(image, layout, make_code(image, layout, U"/a/\u4e2d.py", U"f", 20), 3, outer);
        auto* thread = make_thread(image, layout, inner);
        for (int i = 0; i < 4; ++i) {
            auto& object = *image.objects()[random() % image.objects().size()];
            const std::size_t at = random() % object.size();
            const std::size_t count = std::min<std::size_t>(1 + random() % 8, object.size() - at);
            for (std::size_t k = 0; k < count; ++k) {
                object[at + k] = static_cast<unsigned char>(random());
            }
        }
        const auto stack = walk(layout, thread);
        EXPECT_LE(stack.frames.size(), max_python_frames);
    }
}

TEST(PythonFramesOneVersionTest, EntryFramesAreStepsButNotFrames) {
    for (const PythonLayout& layout : {layout_3_13(), layout_3_14()}) {
        Image image;
        auto* outer = make_frame(image, layout, make_code(image, layout, U"a.py", U"outer", 1), 0, nullptr);
        auto* entry = make_frame(image, layout, nullptr, 0, outer, 3);  // executes None, in the C code between
        auto* inner = make_frame(image, layout, make_code(image, layout, U"a.py", U"inner", 9), 2, entry, 1);
        const auto stack = walk(layout, make_thread(image, layout, inner));
        ASSERT_EQ(stack.frames.size(), 2u) << stack.unavailable;
        EXPECT_EQ(stack.frames[0].function, "inner");
        EXPECT_EQ(stack.frames[1].function, "outer");

        put(entry, layout.frame_previous, address(entry));  // a ring of entry frames must end too
        EXPECT_EQ(walk(layout, make_thread(image, layout, inner)).frames.size(), 1u);
    }
}

TEST(PythonFramesOneVersionTest, MarksInReferencesOf314AreIgnored) {
    for (const std::uintptr_t mark : {1, 3, 5}) {
        const PythonLayout layout = layout_3_14();
        Image image;
        auto* code = make_code(image, layout, U"a.py", U"f", 9);
        const auto stack =
            walk(layout, make_thread(image, layout, make_frame(image, layout, code, 2, nullptr, 0, mark)));
        ASSERT_EQ(stack.frames.size(), 1u) << stack.unavailable;
        EXPECT_EQ(stack.frames[0], (PythonFrame{"a.py", 11, "f"}));
    }
}

TEST(PythonFramesOneVersionTest, FreeThreadedFrameRunsItsThreadsCopyOfTheBytecode) {
    const PythonLayout layout = layout_3_14_free_threaded();
    Image image;
    auto* code = make_code(image, layout, U"a.py", U"f", 9);
    unsigned char* copy = image.object(64);
    unsigned char* table = image.object(64);
    put<std::int64_t>(table, 0, 3);  // copies 0 to 2
    put(table, 8 + 2 * 8, address(copy));
    put(code, layout.code_tlbc, address(table));
    auto* frame = make_frame(image, layout, code, 0, nullptr);
    put(frame, layout.frame_position, address(copy) + 2 * 4);
    put<std::int32_t>(frame, layout.frame_tlbc_index, 2);
    auto stack = walk(layout, make_thread(image, layout, frame));
    ASSERT_EQ(stack.frames.size(), 1u) << stack.unavailable;
    EXPECT_EQ(stack.frames[0].line, 13u);

    for (const std::int32_t index : {3, -1, 1 << 30}) {  // out of the table: the line is unknown, the frame is not
        put(frame, layout.frame_tlbc_index, index);
        stack = walk(layout, make_thread(image, layout, frame));
        ASSERT_EQ(stack.frames.size(), 1u);
        EXPECT_EQ(stack.frames[0], (PythonFrame{"a.py", 0, "f"}));
    }
}

TEST(PythonFramesOneVersionTest, LineThatATracerSetWinsIn310) {
    const PythonLayout layout = layout_3_10();
    Image image;
    auto* frame = make_frame(image, layout, make_code(image, layout, U"a.py", U"f", 9), 2, nullptr);
    put<std::int32_t>(frame, layout.frame_line, 77);
    EXPECT_EQ(walk(layout, make_thread(image, layout, frame)).frames.at(0).line, 77u);
}

TEST(PythonLayoutTest, RefusesWhatIsNoKnownDescription) {
    auto offsets = invented_offsets<DebugOffsets314>(final_3_14_0);
    PythonLayout layout;
    std::string reason;
    const auto refuse = [&](unsigned long version) {
        reason.clear();
        return !layout_from_debug_offsets(address(&offsets), version, layout, reason) && !reason.empty();
    };
    EXPECT_FALSE(refuse(final_3_14_0));
    EXPECT_TRUE(refuse(final_3_13_0));
    EXPECT_TRUE(refuse(0x030e01f0)) << "patch version differs";
    EXPECT_TRUE(refuse(0x030f00f0));
    offsets.version = 0x030e00a7;
    EXPECT_TRUE(refuse(0x030e00a7)) << "alpha";
    offsets.version = 0x030e00c1;
    EXPECT_FALSE(refuse(0x030e00c1)) << "release candidate";
    offsets.version = final_3_14_0;
    offsets.frame[1] = std::uint64_t{1} << 40;
    EXPECT_TRUE(refuse(final_3_14_0));
    offsets.frame[1] = 24;
    offsets.text[0] = 0;
    EXPECT_TRUE(refuse(final_3_14_0));
    offsets.text[0] = 64;
    offsets.cookie[0] = 'y';
    EXPECT_TRUE(refuse(final_3_14_0));
    EXPECT_FALSE(layout_from_debug_offsets(0, final_3_14_0, layout, reason));
    EXPECT_FALSE(layout_from_debug_offsets(64, final_3_14_0, layout, reason));
}

TEST(PythonLinesTest, PairsOf310) {
    // (bytes, lines): line 10 for 4 bytes, none for 2, line 9 for 4, then 300 bytes of line 11 in two entries.
    const std::vector<unsigned char> table{4, 0, 2, 0x80, 4, 0xff, 254, 2, 46, 0};
    EXPECT_EQ(line_from_pairs(table, 10, 0), 10u);
    EXPECT_EQ(line_from_pairs(table, 10, 3), 10u);
    EXPECT_EQ(line_from_pairs(table, 10, 4), 0u);
    EXPECT_EQ(line_from_pairs(table, 10, 6), 9u);
    EXPECT_EQ(line_from_pairs(table, 10, 10), 11u);
    EXPECT_EQ(line_from_pairs(table, 10, 300), 11u);
    EXPECT_EQ(line_from_pairs(table, 10, 310), 0u);
    EXPECT_EQ(line_from_pairs(table, 10, -2), 10u) << "before the first instruction";
    EXPECT_EQ(line_from_pairs({}, 10, 0), 0u);
}

TEST(PythonLinesTest, LocationsOf311) {
    // Short form, same line; one-line form with a step of 2; no location; no columns, step -1000; long form, step 5.
    const std::vector<unsigned char> table{0x80 | (3 << 3) | 1,
                                           0x12,  // 4 bytes, line 2000
                                           0x80 | (12 << 3),
                                           0x01,
                                           0x02,              // 2 bytes, line 2002
                                           0x80 | (15 << 3),  // 2 bytes, none
                                           0x80 | (13 << 3),
                                           0x40 | (2001 & 63),
                                           2001 >> 6,  // 2 bytes, line 1002
                                           0x80 | (14 << 3) | 7,
                                           10,
                                           0x41,
                                           0x01,
                                           3,
                                           4};  // 16 bytes, line 1007
    EXPECT_EQ(line_from_locations(table, 2000, 0), 2000u);
    EXPECT_EQ(line_from_locations(table, 2000, 3), 2000u);
    EXPECT_EQ(line_from_locations(table, 2000, 4), 2002u);
    EXPECT_EQ(line_from_locations(table, 2000, 6), 0u);
    EXPECT_EQ(line_from_locations(table, 2000, 8), 1002u);
    EXPECT_EQ(line_from_locations(table, 2000, 10), 1007u);
    EXPECT_EQ(line_from_locations(table, 2000, 25), 1007u);
    EXPECT_EQ(line_from_locations(table, 2000, 26), 0u);
    EXPECT_EQ(line_from_locations(table, 2000, -2), 2000u);
    EXPECT_EQ(line_from_locations({}, 2000, 0), 0u);
}

TEST(PythonLinesTest, RandomTablesEnd) {
    std::mt19937 random(7);
    for (int round = 0; round < 2000; ++round) {
        std::vector<unsigned char> table(random() % 40);
        for (auto& byte : table) {
            byte = static_cast<unsigned char>(random());
        }
        line_from_pairs(table, 1, static_cast<std::int64_t>(random() % 100));
        line_from_locations(table, 1, static_cast<std::int64_t>(random() % 100));
    }
}

TEST(SafeReadTest, ReadsWhatIsThereAndRefusesWhatIsNot) {
    int value = 42;
    int copy = 0;
    EXPECT_EQ(read_memory(address(&value), &copy, sizeof copy), ReadResult::ok);
    EXPECT_EQ(copy, 42);
    EXPECT_EQ(read_memory(0, &copy, sizeof copy), ReadResult::bad_address);
    EXPECT_EQ(read_memory(16, &copy, sizeof copy), ReadResult::bad_address);
    EXPECT_EQ(read_memory(UINTPTR_MAX - 1, &copy, sizeof copy), ReadResult::bad_address);
    EXPECT_EQ(read_memory(16, &copy, 0), ReadResult::ok);
}

TEST(SafeReadTest, BatchStopsAtTheFirstBadPiece) {
    std::vector<int> values(1500), copies(1500);
    std::vector<ReadPiece> pieces;
    for (int i = 0; i < 1500; ++i) {
        values[i] = i;
        pieces.push_back({address(&values[i]), &copies[i], sizeof(int)});
    }
    ReadResult result = ReadResult::bad_address;
    EXPECT_EQ(read_pieces(pieces, result), 1500u);
    EXPECT_EQ(result, ReadResult::ok);
    EXPECT_EQ(copies, values);

    for (const std::uintptr_t wild : {std::uintptr_t{0}, std::uintptr_t{64}}) {
        for (const std::size_t bad : {0u, 700u, 1499u}) {
            auto broken = pieces;
            broken[bad].address = wild;
            EXPECT_EQ(read_pieces(broken, result), bad);
            EXPECT_EQ(result, ReadResult::bad_address);
        }
    }
    EXPECT_EQ(read_pieces({}, result), 0u);
    EXPECT_EQ(result, ReadResult::ok);
}

}  // namespace
}  // namespace keepgraph::trace
