// SPDX-License-Identifier: Apache-2.0
#include "trace/python_layout.h"

#include <cstring>

#include "trace/safe_read.h"

namespace keepgraph::trace {
namespace {

/// Position, in 8-byte words from the start of _PyRuntime, of the offsets that a traceback needs. CPython promises that
/// the order of the words is fixed within a minor version (from the release candidate on), not across two.
struct WordPositions {
    unsigned thread_frame;
    unsigned frame_previous, frame_executable, frame_instruction, frame_owner, frame_tlbc_index;
    unsigned code_file, code_name, code_lines, code_first_line, code_instructions, code_tlbc;
    unsigned object_type;
    unsigned bytes_size, bytes_data;
    unsigned text_whole_size, text_state, text_length, text_ascii_size;
    unsigned total;
};
constexpr unsigned absent = 0;

// 0 cookie, 1 version, 2 free-threaded; then groups, each led by the size of its structure:
// 3 runtime (3 words), 6 interpreter (13), 19 thread (9), 28 frame (6), 34 code (10), 44 object (2), 46 type (4),
// 50 tuple (3), 53 list (3), 56 dict (3), 59 float (2), 61 int (3), 64 bytes (3), 67 text (4), 71 collector (2).
constexpr WordPositions words_3_13{
    .thread_frame = 19 + 4,
    .frame_previous = 28 + 1,
    .frame_executable = 28 + 2,
    .frame_instruction = 28 + 3,
    .frame_owner = 28 + 5,
    .frame_tlbc_index = absent,
    .code_file = 34 + 1,
    .code_name = 34 + 2,
    .code_lines = 34 + 4,
    .code_first_line = 34 + 5,
    .code_instructions = 34 + 9,
    .code_tlbc = absent,
    .object_type = 44 + 1,
    .bytes_size = 64 + 1,
    .bytes_data = 64 + 2,
    .text_whole_size = 67,
    .text_state = 67 + 1,
    .text_length = 67 + 2,
    .text_ascii_size = 67 + 3,
    .total = 71,
};

// 3.14 adds to the interpreter (16 words), the frame (8: stack pointer, bytecode index) and the code (11), and a group
// for sets (4 words) between list and dict: 3 runtime, 6 interpreter, 22 thread (9), 31 frame (8), 39 code (11),
// 50 object (2), 52 type (4), 56 tuple (3), 59 list (3), 62 set (4), 66 dict (3), 69 float (2), 71 int (3),
// 74 bytes (3), 77 text (4).
constexpr WordPositions words_3_14{
    .thread_frame = 22 + 4,
    .frame_previous = 31 + 1,
    .frame_executable = 31 + 2,
    .frame_instruction = 31 + 3,
    .frame_owner = 31 + 5,
    .frame_tlbc_index = 31 + 7,
    .code_file = 39 + 1,
    .code_name = 39 + 2,
    .code_lines = 39 + 4,
    .code_first_line = 39 + 5,
    .code_instructions = 39 + 9,
    .code_tlbc = 39 + 10,
    .object_type = 50 + 1,
    .bytes_size = 74 + 1,
    .bytes_data = 74 + 2,
    .text_whole_size = 77,
    .text_state = 77 + 1,
    .text_length = 77 + 2,
    .text_ascii_size = 77 + 3,
    .total = 81,
};

/// No structure involved is larger; a word beyond it means that the words are not what we think they are.
constexpr std::uint64_t largest_offset = 1 << 16;

}  // namespace

PythonLayout layout_of_3_10() noexcept {
    PythonLayout layout;
    layout.lines = PythonLayout::Lines::pairs;
    layout.thread_frame = 24;
    layout.frame_previous = 24;
    layout.frame_code = 32;
    layout.frame_position = 96;
    layout.frame_line = 100;
    layout.code_first_line = 40;
    layout.code_file = 104;
    layout.code_name = 112;
    layout.code_lines = 120;
    layout.text_ascii_data = 48;
    layout.text_compact_data = 72;
    return layout;
}

bool layout_from_debug_offsets(std::uintptr_t runtime, unsigned long version, PythonLayout& layout,
                               std::string& reason) {
    const unsigned long minor = version >> 16;
    const WordPositions& at = minor == 0x30d ? words_3_13 : words_3_14;
    if (minor != 0x30d && minor != 0x30e) {
        reason = "this version's debug offsets are not known";
        return false;
    }
    constexpr unsigned most_words = 96;
    static_assert(words_3_13.total <= most_words && words_3_14.total <= most_words);
    std::uint64_t words[most_words];
    const ReadResult read = read_memory(runtime, words, at.total * sizeof words[0]);
    if (read != ReadResult::ok) {
        reason = read == ReadResult::not_permitted ? "process_vm_readv is not permitted" : "_PyRuntime is not readable";
        return false;
    }
    if (std::memcmp(words, "xdebugpy", 8) != 0) {
        reason = "_PyRuntime does not begin with debug offsets";
        return false;
    }
    if (words[1] != version) {
        reason = "debug offsets are of another version";
        return false;
    }
    if (((version >> 4) & 0xf) < 0xc) {  // alpha 0xa, beta 0xb, candidate 0xc, final 0xf
        reason = "pre-release, whose debug offsets may differ";
        return false;
    }
    bool in_range = true;
    const auto take = [&](unsigned word, std::size_t& offset) {
        in_range = in_range && words[word] <= largest_offset;
        offset = words[word];
    };
    layout = PythonLayout{};
    take(at.thread_frame, layout.thread_frame);
    take(at.frame_previous, layout.frame_previous);
    take(at.frame_executable, layout.frame_code);
    take(at.frame_instruction, layout.frame_position);
    take(at.frame_owner, layout.frame_owner);
    take(at.code_file, layout.code_file);
    take(at.code_name, layout.code_name);
    take(at.code_lines, layout.code_lines);
    take(at.code_first_line, layout.code_first_line);
    take(at.code_instructions, layout.code_instructions);
    take(at.object_type, layout.object_type);
    take(at.bytes_size, layout.bytes_size);
    take(at.bytes_data, layout.bytes_data);
    take(at.text_length, layout.text_length);
    take(at.text_state, layout.text_state);
    take(at.text_ascii_size, layout.text_ascii_data);
    take(at.text_whole_size, layout.text_compact_data);
    layout.text_compact_data -= sizeof(void*);  // all but the pointer that only non-compact strings use
    const bool free_threaded = words[2] != 0;
    if (free_threaded && at.code_tlbc != absent) {
        take(at.frame_tlbc_index, layout.frame_tlbc_index);
        take(at.code_tlbc, layout.code_tlbc);
        layout.text_kind_shift = 8;  // `interned` is a byte of its own there, not two bits
    }
    if (!in_range || layout.text_compact_data > largest_offset) {
        reason = "debug offsets are out of range";
        return false;
    }
    return true;
}

}  // namespace keepgraph::trace
