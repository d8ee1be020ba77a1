// SPDX-License-Identifier: Apache-2.0
#include "trace/python_frames.h"

#include <cstring>
#include <vector>

#include "trace/safe_read.h"
#include "trace/utf8.h"

namespace keepgraph::trace {
namespace {

constexpr std::int64_t longest_text = 4096;         // characters; a file name can have that many, more is garbage
constexpr std::int64_t longest_line_table = 1 << 20;  // bytes; generated code does reach tens of kilobytes
constexpr unsigned max_links = 4 * max_python_frames;  // entry frames are followed but not counted as frames

/// Reads structures; remembers why the first failing read failed.
class Reader {
  public:
    template <typename T>
    bool value(std::uintptr_t address, T& out) {
        return bytes(address, &out, sizeof out);
    }

    bool bytes(std::uintptr_t address, void* to, std::size_t size) {
        const ReadResult result = read_memory(address, to, size);
        if (result != ReadResult::ok && failure_ == nullptr) {
            failure_ = result == ReadResult::not_permitted ? "process_vm_readv is not permitted"
                                                           : "the interpreter's frames are not readable";
        }
        return result == ReadResult::ok;
    }

    const char* failure() const { return failure_; }

  private:
    const char* failure_ = nullptr;
};

/// A str object as UTF-8; false when it is not a compact string of a sane length.
bool read_text(Reader& reader, const PythonLayout& layout, std::uintptr_t object, std::string& text) {
    std::int64_t length = 0;
    std::uint32_t state = 0;
    if (!reader.value(object + layout.text_length, length) || !reader.value(object + layout.text_state, state)) {
        return false;
    }
    const std::uint32_t kind = (state >> layout.text_kind_shift) & 7;  // bytes per character
    const bool compact = ((state >> (layout.text_kind_shift + 3)) & 1) != 0;
    const bool ascii = ((state >> (layout.text_kind_shift + 4)) & 1) != 0;
    if (!compact || (kind != 1 && kind != 2 && kind != 4) || length < 0 || length > longest_text) {
        return false;
    }
    std::vector<unsigned char> raw(static_cast<std::size_t>(length) * kind);
    if (!reader.bytes(object + (ascii ? layout.text_ascii_data : layout.text_compact_data), raw.data(), raw.size())) {
        return false;
    }
    text.clear();
    for (std::size_t i = 0; i < raw.size(); i += kind) {
        std::uint32_t c = raw[i];
        if (kind == 2) {
            std::uint16_t wide;
            std::memcpy(&wide, raw.data() + i, sizeof wide);
            c = wide;
        } else if (kind == 4) {
            std::memcpy(&c, raw.data() + i, sizeof c);
        }
        append_utf8(text, c);
    }
    return true;
}

bool read_line_table(Reader& reader, const PythonLayout& layout, std::uintptr_t object,
                     std::vector<unsigned char>& table) {
    std::int64_t size = 0;
    if (!reader.value(object + layout.bytes_size, size) || size < 0 || size > longest_line_table) {
        return false;
    }
    table.resize(static_cast<std::size_t>(size));
    return reader.bytes(object + layout.bytes_data, table.data(), table.size());
}

/// Start of the bytecode that the frame runs: inside the code object, or, in a free-threaded interpreter, the copy with
/// the frame's number in the table {count, pointers...} (number 0 is the one inside the code object).
bool read_instructions(Reader& reader, const PythonLayout& layout, std::uintptr_t frame, std::uintptr_t code,
                       std::uintptr_t& start) {
    start = code + layout.code_instructions;
    if (layout.code_tlbc == 0) {
        return true;
    }
    std::int32_t index = 0;
    if (!reader.value(frame + layout.frame_tlbc_index, index)) {
        return false;
    }
    if (index == 0) {
        return true;
    }
    std::uintptr_t table = 0;
    std::int64_t count = 0;
    return reader.value(code + layout.code_tlbc, table) && reader.value(table, count) && index > 0 && index < count &&
           reader.value(table + sizeof count + static_cast<std::size_t>(index) * sizeof start, start);
}

bool read_line(Reader& reader, const PythonLayout& layout, std::uintptr_t frame, std::uintptr_t code, unsigned& line) {
    line = 0;
    int first_line = 0;
    std::uintptr_t table_object = 0;
    std::vector<unsigned char> table;
    if (!reader.value(code + layout.code_first_line, first_line) ||
        !reader.value(code + layout.code_lines, table_object)) {
        return false;
    }
    if (layout.lines == PythonLayout::Lines::pairs) {
        std::int32_t index = 0;
        std::int32_t traced_line = 0;
        if (!reader.value(frame + layout.frame_position, index) || !reader.value(frame + layout.frame_line, traced_line) ||
            !read_line_table(reader, layout, table_object, table)) {
            return false;
        }
        line = traced_line > 0 ? static_cast<unsigned>(traced_line)
                               : line_from_pairs(table, first_line, static_cast<std::int64_t>(index) * 2);
        return true;
    }
    std::uintptr_t instruction = 0;
    std::uintptr_t start = 0;
    if (!reader.value(frame + layout.frame_position, instruction) ||
        !read_instructions(reader, layout, frame, code, start) || !read_line_table(reader, layout, table_object, table)) {
        return false;
    }
    line = line_from_locations(table, first_line, static_cast<std::int64_t>(instruction - start));
    return true;
}

/// One frame into `out`: 1 taken, 0 an entry frame without code, -1 unreadable.
int read_frame(Reader& reader, const PythonLayout& layout, std::uintptr_t frame, PythonFrame& out) {
    if (layout.lines == PythonLayout::Lines::locations) {
        unsigned char owner = 0;
        if (!reader.value(frame + layout.frame_owner, owner)) {
            return -1;
        }
        if (owner >= 3) {  // the interpreter's own frames, between two layers of C: no code, or a trampoline's
            return 0;
        }
    }
    std::uintptr_t code = 0;
    if (!reader.value(frame + layout.frame_code, code)) {
        return -1;
    }
    code &= ~std::uintptr_t{7};  // 3.14 keeps reference-counting marks in the low bits
    std::uintptr_t type = 0;
    if (!reader.value(code + layout.object_type, type) || (layout.code_type != 0 && type != layout.code_type)) {
        return -1;
    }
    std::uintptr_t file = 0;
    std::uintptr_t name = 0;
    if (!reader.value(code + layout.code_file, file) || !reader.value(code + layout.code_name, name) ||
        !read_text(reader, layout, file, out.file) || !read_text(reader, layout, name, out.function)) {
        return -1;
    }
    return read_line(reader, layout, frame, code, out.line) ? 1 : -1;
}

}  // namespace

void walk_python_frames(const PythonLayout& layout, std::uintptr_t thread_state, PythonStack& stack) {
    Reader reader;
    const char* reason = nullptr;
    std::uintptr_t frame = 0;
    bool readable = reader.value(thread_state + layout.thread_frame, frame);
    for (unsigned links = 0; readable && frame != 0; ++links) {
        if (stack.frames.size() >= max_python_frames || links >= max_links) {
            reason = "cut at the innermost 100";
            break;
        }
        PythonFrame taken;
        const int result = read_frame(reader, layout, frame, taken);
        if (result > 0) {
            stack.frames.push_back(std::move(taken));
        }
        readable = result >= 0 && reader.value(frame + layout.frame_previous, frame);
    }
    if (!readable) {
        reason = reader.failure() != nullptr ? reader.failure() : "the interpreter's frames have an unknown layout";
    }
    if (reason != nullptr) {
        stack.unavailable = std::string(stack.frames.empty() ? "python frames unavailable: " : "python frames incomplete: ") +
                            reason;
    }
}

}  // namespace keepgraph::trace
