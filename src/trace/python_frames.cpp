// SPDX-License-Identifier: Apache-2.0
#include "trace/python_frames.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "trace/safe_read.h"
#include "trace/utf8.h"

namespace keepgraph::trace {
namespace {

// The walk goes by levels, not frame by frame: all frames, then all code objects, then the heads of all their strings
// and tables, then the contents. A guarded read costs a system call, and this way a stack of any depth takes about a
// dozen instead of eleven per frame (20 frames: 20 us instead of 1 ms where a system call costs 1 us).

constexpr std::int64_t longest_text = 4096;           // characters; a file name can have that many, more is garbage
constexpr std::int64_t longest_line_table = 1 << 20;  // bytes; generated code does reach tens of kilobytes
constexpr std::size_t max_links =
    std::size_t{4} * max_python_frames;  // entry frames are followed but not counted as frames
constexpr std::size_t page = 4096;

constexpr const char* unknown_layout = "the interpreter's frames have an unknown layout";

const char* text_of(ReadResult result) {
    return result == ReadResult::not_permitted ? "process_vm_readv is not permitted"
                                               : "the interpreter's frames are not readable";
}

/// A field of a structure that was copied whole.
template <typename T>
T field(const std::vector<unsigned char>& bytes, std::size_t start, std::size_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + start + offset, sizeof value);
    return value;
}

/// Reads structures that lie close together: most frames of a thread share a few pages. Keeps one page.
class NearbyReader {
  public:
    ReadResult read(std::uintptr_t address, void* to, std::size_t size) {
        const std::uintptr_t start = address & ~(page - 1);
        if (address + size > start + page) {
            return read_memory(address, to, size);
        }
        if (start != start_) {
            start_ = none;
            const ReadResult result = read_memory(start, bytes_, page);
            if (result != ReadResult::ok) {
                return result;
            }
            start_ = start;
        }
        std::memcpy(to, bytes_ + (address - start), size);
        return ReadResult::ok;
    }

  private:
    static constexpr std::uintptr_t none = 1;  // no page starts there; 0 would make a null page look present
    std::uintptr_t start_ = none;
    unsigned char bytes_[page];
};

struct Frame {
    std::uintptr_t address = 0;
    std::size_t code = 0;         ///< index of its code object
    std::uintptr_t position = 0;  ///< instruction index or address
    unsigned traced_line = 0;
    std::int32_t tlbc_index = 0;
};

/// A str or bytes object on its way: head, then contents.
struct Blob {
    std::uintptr_t object = 0;
    std::uintptr_t data = 0;
    std::vector<unsigned char> bytes;
    std::uint32_t kind = 1;  ///< bytes per character
};

struct Code {
    std::uintptr_t address = 0;
    std::int32_t first_line = 0;
    std::uintptr_t tlbc = 0;
    Blob file, name, lines;
    bool complete = false;
};

/// One capture: the frames, and each code object once (recursion repeats them).
struct Walk {
    const PythonLayout& layout;
    std::vector<Frame> frames;
    std::vector<Code> codes;
    const char* reason = nullptr;  ///< the first thing that went wrong

    void fail(const char* text) { reason = reason == nullptr ? text : reason; }
};

std::size_t index_of_code(Walk& walk, std::uintptr_t address) {
    // Searched from the end: the frame before is the likeliest to run the same code. At most 100 entries.
    for (std::size_t i = walk.codes.size(); i-- > 0;) {
        if (walk.codes[i].address == address) {
            return i;
        }
    }
    walk.codes.emplace_back().address = address;
    return walk.codes.size() - 1;
}

void collect_frames(Walk& walk, std::uintptr_t thread_state) {
    const PythonLayout& layout = walk.layout;
    const bool locations = layout.lines == PythonLayout::Lines::locations;
    std::uintptr_t address = 0;
    const ReadResult first = read_memory(thread_state + layout.thread_frame, &address, sizeof address);
    if (first != ReadResult::ok) {
        return walk.fail(text_of(first));
    }
    const std::size_t size =
        sizeof(std::uintptr_t) + std::max({layout.frame_previous, layout.frame_code, layout.frame_position,
                                           layout.frame_line, layout.frame_owner, layout.frame_tlbc_index});
    std::vector<unsigned char> bytes(size);
    NearbyReader reader;
    for (std::size_t links = 0; address != 0; ++links) {
        if (walk.frames.size() >= max_python_frames || links >= max_links) {
            return walk.fail("cut at the innermost 100");
        }
        const ReadResult result = reader.read(address, bytes.data(), size);
        if (result != ReadResult::ok) {
            return walk.fail(text_of(result));
        }
        Frame frame;
        frame.address = address;
        address = field<std::uintptr_t>(bytes, 0, layout.frame_previous);
        if (locations && bytes[layout.frame_owner] >= 3) {
            continue;  // the interpreter's own frame between two layers of C: no code, or a trampoline's
        }
        // 3.14 keeps reference-counting marks in the low bits; objects are aligned to 8 everywhere.
        frame.code = index_of_code(walk, field<std::uintptr_t>(bytes, 0, layout.frame_code) & ~std::uintptr_t{7});
        if (locations) {
            frame.position = field<std::uintptr_t>(bytes, 0, layout.frame_position);
            frame.tlbc_index = layout.code_tlbc != 0 ? field<std::int32_t>(bytes, 0, layout.frame_tlbc_index) : 0;
        } else {
            frame.position = static_cast<std::uintptr_t>(field<std::int32_t>(bytes, 0, layout.frame_position));
            const auto traced = field<std::int32_t>(bytes, 0, layout.frame_line);
            frame.traced_line = traced > 0 ? static_cast<unsigned>(traced) : 0;
        }
        walk.frames.push_back(frame);
    }
}

/// Runs a batch of equal-sized structures into `bytes`; returns how many were read.
std::size_t read_structures(Walk& walk, const std::vector<std::uintptr_t>& addresses, std::size_t size,
                            std::vector<unsigned char>& bytes) {
    bytes.assign(addresses.size() * size, 0);
    std::vector<ReadPiece> pieces;
    pieces.reserve(addresses.size());
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        pieces.push_back({addresses[i], bytes.data() + i * size, size});
    }
    ReadResult result = ReadResult::ok;
    const std::size_t read = read_pieces(pieces, result);
    if (result != ReadResult::ok) {
        walk.fail(text_of(result));
    }
    return read;
}

/// Fills the code objects' own fields. Those from the first bad one on are dropped.
void read_codes(Walk& walk) {
    const PythonLayout& layout = walk.layout;
    std::vector<std::uintptr_t> addresses;
    for (const Code& code : walk.codes) {
        addresses.push_back(code.address);
    }
    const std::size_t size =
        sizeof(std::uintptr_t) + std::max({layout.object_type, layout.code_file, layout.code_name,
                                           layout.code_first_line, layout.code_lines, layout.code_tlbc});
    std::vector<unsigned char> bytes;
    std::size_t good = read_structures(walk, addresses, size, bytes);
    for (std::size_t i = 0; i < good; ++i) {
        const std::size_t start = i * size;
        if (layout.code_type != 0 && field<std::uintptr_t>(bytes, start, layout.object_type) != layout.code_type) {
            walk.fail(unknown_layout);
            good = i;
            break;
        }
        Code& code = walk.codes[i];
        code.file.object = field<std::uintptr_t>(bytes, start, layout.code_file);
        code.name.object = field<std::uintptr_t>(bytes, start, layout.code_name);
        code.lines.object = field<std::uintptr_t>(bytes, start, layout.code_lines);
        code.first_line = field<std::int32_t>(bytes, start, layout.code_first_line);
        code.tlbc = layout.code_tlbc != 0 ? field<std::uintptr_t>(bytes, start, layout.code_tlbc) : 0;
    }
    walk.codes.resize(good);
}

/// From a str object's head: where its characters are and how many bytes. False: not a compact string of a sane length.
bool prepare_text(const PythonLayout& layout, const std::vector<unsigned char>& heads, std::size_t start, Blob& text) {
    const auto length = field<std::int64_t>(heads, start, layout.text_length);
    const auto state = field<std::uint32_t>(heads, start, layout.text_state);
    text.kind = (state >> layout.text_kind_shift) & 7;
    const bool compact = ((state >> (layout.text_kind_shift + 3)) & 1) != 0;
    const bool ascii = ((state >> (layout.text_kind_shift + 4)) & 1) != 0;
    if (!compact || (text.kind != 1 && text.kind != 2 && text.kind != 4) || length < 0 || length > longest_text) {
        return false;
    }
    text.data = text.object + (ascii ? layout.text_ascii_data : layout.text_compact_data);
    text.bytes.resize(static_cast<std::size_t>(length) * text.kind);
    return true;
}

/// Fills file, name and line table of the code objects; `complete` says for which that worked.
void read_blobs(Walk& walk) {
    const PythonLayout& layout = walk.layout;
    std::vector<std::uintptr_t> addresses;
    for (const Code& code : walk.codes) {
        addresses.insert(addresses.end(), {code.file.object, code.name.object, code.lines.object});
    }
    const std::size_t size =
        sizeof(std::uint64_t) + std::max({layout.text_length, layout.text_state, layout.bytes_size});
    std::vector<unsigned char> heads;
    std::size_t good = read_structures(walk, addresses, size, heads) / 3;
    std::vector<ReadPiece> pieces;
    for (std::size_t i = 0; i < good; ++i) {
        Code& code = walk.codes[i];
        const std::size_t start = i * 3 * size;
        const auto table_size = field<std::int64_t>(heads, start + 2 * size, layout.bytes_size);
        if (!prepare_text(layout, heads, start, code.file) || !prepare_text(layout, heads, start + size, code.name) ||
            table_size < 0 || table_size > longest_line_table) {
            walk.fail(unknown_layout);
            good = i;
            break;
        }
        code.lines.data = code.lines.object + layout.bytes_data;
        code.lines.bytes.resize(static_cast<std::size_t>(table_size));
        for (Blob* blob : {&code.file, &code.name, &code.lines}) {
            pieces.push_back({blob->data, blob->bytes.data(), blob->bytes.size()});
        }
    }
    ReadResult result = ReadResult::ok;
    good = std::min(good, read_pieces(pieces, result) / 3);
    if (result != ReadResult::ok) {
        walk.fail(text_of(result));
    }
    for (std::size_t i = 0; i < good; ++i) {
        walk.codes[i].complete = true;
    }
}

std::string text_of(const Blob& blob) {
    std::string text;
    for (std::size_t i = 0; i + blob.kind <= blob.bytes.size(); i += blob.kind) {
        std::uint32_t c = 0;
        std::memcpy(&c, blob.bytes.data() + i, blob.kind);  // little-endian, as both platforms are
        append_utf8(text, c);
    }
    return text;
}

/// Start of the bytecode that the frame runs: inside the code object, or, in a free-threaded interpreter, the copy with
/// the frame's number in the table {count, pointers...} (number 0 is the one inside the code object). 0: unreadable.
std::uintptr_t start_of_instructions(const PythonLayout& layout, const Frame& frame, const Code& code) {
    if (frame.tlbc_index == 0) {
        return code.address + layout.code_instructions;
    }
    std::int64_t count = 0;
    std::uintptr_t start = 0;
    const auto entry = code.tlbc + sizeof count + static_cast<std::uintptr_t>(frame.tlbc_index) * sizeof start;
    const bool good = read_memory(code.tlbc, &count, sizeof count) == ReadResult::ok && frame.tlbc_index > 0 &&
                      frame.tlbc_index < count && read_memory(entry, &start, sizeof start) == ReadResult::ok;
    return good ? start : 0;
}

unsigned line_of(const PythonLayout& layout, const Frame& frame, const Code& code) {
    if (layout.lines == PythonLayout::Lines::pairs) {
        return frame.traced_line != 0
                   ? frame.traced_line
                   : line_from_pairs(code.lines.bytes, code.first_line, static_cast<std::int64_t>(frame.position) * 2);
    }
    const std::uintptr_t start = start_of_instructions(layout, frame, code);
    return start == 0 ? 0
                      : line_from_locations(code.lines.bytes, code.first_line,
                                            static_cast<std::int64_t>(frame.position - start));
}

}  // namespace

void walk_python_frames(const PythonLayout& layout, std::uintptr_t thread_state, PythonStack& stack) {
    Walk walk{layout, {}, {}, nullptr};
    collect_frames(walk, thread_state);
    read_codes(walk);
    read_blobs(walk);
    for (const Frame& frame : walk.frames) {
        if (frame.code >= walk.codes.size() || !walk.codes[frame.code].complete) {
            break;  // the reason is set: frames further out would leave a gap that looks like a call
        }
        const Code& code = walk.codes[frame.code];
        stack.frames.push_back({text_of(code.file), line_of(layout, frame, code), text_of(code.name)});
    }
    if (walk.reason != nullptr) {
        stack.unavailable = stack.frames.empty() ? "python frames unavailable: " : "python frames incomplete: ";
        stack.unavailable += walk.reason;
    }
}

}  // namespace keepgraph::trace
