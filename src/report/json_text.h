// SPDX-License-Identifier: Apache-2.0
//
// JSON written as text at once, without a tree of values: for graph files, where a tree of a graph of 100000 nodes
// takes a gigabyte and seconds, while a launch of the host waits.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace keepgraph::report {

/// Appends `text` as a JSON string. What is no UTF-8 becomes U+FFFD. May throw std::bad_alloc.
void append_string(std::string& out, std::string_view text);

/// The caller closes what it opens, in order; commas come by themselves. Everything may throw std::bad_alloc.
class JsonText {
  public:
    void begin_object() { open('{'); }
    void end_object() { close('}'); }
    void begin_array() { open('['); }
    void begin_object(std::string_view name) {
        key(name);
        begin_object();
    }
    void begin_array(std::string_view name) {
        key(name);
        begin_array();
    }
    void end_array() { close(']'); }
    void key(std::string_view name) {
        separate();
        append_string(text_, name);
        text_ += ':';
        first_ = true;
    }
    void value(std::string_view text) {
        separate();
        append_string(text_, text);
    }
    void value(const char* text) { value(std::string_view(text)); }
    void value(std::nullptr_t) { raw("null"); }
    void value(bool truth) { raw(truth ? "true" : "false"); }
    template <std::integral Number>
    void value(Number number) {
        char digits[24];
        const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
        raw({digits, static_cast<std::size_t>(end - digits)});
    }
    /// A value that is JSON already.
    void raw(std::string_view json) {
        separate();
        text_ += json;
    }
    template <class Value>
    void member(std::string_view name, const Value& of) {
        key(name);
        value(of);
    }
    /// The next value or key stands on a line of its own.
    void break_line() noexcept { breaks_ = true; }

    const std::string& text() const noexcept { return text_; }

  private:
    void open(char bracket) {
        separate();
        text_ += bracket;
        first_ = true;
    }
    void close(char bracket) {
        text_ += bracket;
        first_ = false;
        breaks_ = false;
    }
    void separate() {
        if (!first_)
            text_ += ',';
        if (breaks_)
            text_ += '\n';
        first_ = breaks_ = false;
    }

    std::string text_;
    bool first_ = true;  // nothing stands before the next value that a comma has to part it from
    bool breaks_ = false;
};

}  // namespace keepgraph::report
