// SPDX-License-Identifier: Apache-2.0
#include "trace/python_dump.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <string>

#include "trace/utf8.h"

namespace keepgraph::trace {
namespace {

bool parse_hex(std::string_view digits, std::uint32_t& value) {
    value = 0;
    for (const char c : digits) {
        if (c >= '0' && c <= '9') {
            value = value * 16 + static_cast<std::uint32_t>(c - '0');
        } else if (c >= 'a' && c <= 'f') {  // the dump writes lower case only
            value = value * 16 + static_cast<std::uint32_t>(c - 'a' + 10);
        } else {
            return false;
        }
    }
    return true;
}

/// Undoes the escapes. The dump does not escape the backslash itself, so only sequences that it can have made are
/// taken: the shortest form for the value, and never one for a printable ASCII character.
std::string unescape(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 1 < text.size()) {
            const char kind = text[i + 1];
            const std::size_t length = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
            std::uint32_t c = 0;
            if (length != 0 && i + 2 + length <= text.size() && parse_hex(text.substr(i + 2, length), c)) {
                const bool made_by_dump = length == 2 ? c < 0x20 || c > 0x7e : length == 4 ? c > 0xff : c > 0xffff;
                if (made_by_dump) {
                    append_utf8(out, c);
                    i += 1 + length;
                    continue;
                }
            }
        }
        out += text[i];
    }
    return out;
}

/// `"x", line N in f` (the text behind `  File `).
bool parse_location(std::string_view text, PythonFrame& frame) {
    constexpr std::string_view before_line = ", line ";
    constexpr std::string_view before_function = " in ";
    // From the right: a file name may hold anything, a function name in practice does not hold `, line `.
    const std::size_t line_at = text.rfind(before_line);
    if (line_at == std::string_view::npos) {
        return false;
    }
    std::string_view file = text.substr(0, line_at);
    if (file.size() >= 2 && file.front() == '"' && file.back() == '"') {  // without quotes it is the dump's own `???`
        file = file.substr(1, file.size() - 2);
    }
    const std::string_view rest = text.substr(line_at + before_line.size());
    const std::size_t in_at = rest.find(before_function);
    if (in_at == std::string_view::npos) {
        return false;
    }
    const std::string_view number = rest.substr(0, in_at);  // digits, or `???`
    frame.line = 0;
    std::from_chars(number.data(), number.data() + number.size(), frame.line);
    frame.file = unescape(file);
    frame.function = unescape(rest.substr(in_at + before_function.size()));
    return true;
}

/// Both ends of a pipe, closed at the end of the scope.
struct Pipe {
    int ends[2] = {-1, -1};
    // Non-blocking: a dump larger than the pipe must lose its end, not hang the thread that would read it.
    // A pipe and not a memfd, since writing to a file under RLIMIT_FSIZE raises SIGXFSZ in the host.
    Pipe() { ok = pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0; }
    ~Pipe() {
        if (ok) {
            close(ends[0]);
            close(ends[1]);
        }
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    bool ok = false;
};

}  // namespace

void parse_python_dump(std::string_view text, PythonStack& stack) {
    constexpr std::string_view before_file = "  File ";
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        if (end == std::string_view::npos) {
            stack.unavailable = "python frames incomplete: the dump was cut";
            break;
        }
        const std::string_view line = text.substr(at, end - at);
        at = end + 1;
        PythonFrame frame;
        if (line.substr(0, before_file.size()) == before_file &&
            parse_location(line.substr(before_file.size()), frame)) {
            stack.frames.push_back(std::move(frame));
        } else if (line == "  ...") {
            stack.unavailable = "python frames incomplete: cut at the innermost 100";
        }
    }
}

void dump_python_frames(DumpTraceback dump, void* thread_state, PythonStack& stack) {
    const Pipe pipe;
    if (!pipe.ok) {
        stack.unavailable = "python frames unavailable: no pipe for the traceback dump";
        return;
    }
    dump(pipe.ends[1], thread_state);
    std::string text;
    char buffer[4096];
    for (;;) {  // ends at EAGAIN: everything was written before, by this thread
        const ssize_t got = read(pipe.ends[0], buffer, sizeof buffer);
        if (got > 0) {
            text.append(buffer, static_cast<std::size_t>(got));
        } else if (got == 0 || errno != EINTR) {
            break;
        }
    }
    parse_python_dump(text, stack);
}

}  // namespace keepgraph::trace
