// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace keepgraph::cli {

/// What a page is made for.
struct Screen {
    std::size_t width = 100;
    bool colours = false;
    bool full = false;    ///< every frame, nothing cut
    bool narrow = false;  ///< a terminal: lines are fitted to `width`. Elsewhere that is where paragraphs wrap

    /// Of the standard output: $COLUMNS, else what the terminal says, else 100; colours on a terminal only, and not
    /// with NO_COLOR or TERM=dumb. On a pipe or in a file only names longer than longest_name are cut: grep and diff
    /// need what stands there.
    static Screen of_stdout();
    static constexpr std::size_t longest_name = 200;
};

/// Text for eyes, collected line by line. Every line passes through report::printable here, so that no control
/// character of a recording reaches a terminal, wherever the text came from.
class Page {
  public:
    explicit Page(const Screen& screen) : screen_(screen) {}

    const Screen& screen() const { return screen_; }
    const std::string& text() const { return text_; }

    void blank() { text_ += '\n'; }
    void heading(std::string_view title);
    void alarm(std::string_view text);  ///< wrapped like `paragraph`, red on a terminal
    /// Words wrapped at the width; lines after the first are indented by `indent`.
    void paragraph(std::string_view text, std::size_t indent = 4);
    /// As it is; on a terminal cut at the width unless the page is full.
    void line(std::string_view text);
    void whole_line(std::string_view text);  ///< as it is

  private:
    void wrapped(std::string_view text, std::size_t indent, const char* colour);
    Screen screen_;
    std::string text_;
};

/// Columns that are as wide as their widest cell; when that is too much for a terminal, the elastic ones give way.
class Table {
  public:
    /// The elastic ones lose their end or, as names of files, their middle; `words` go on in the next line. A table
    /// with an address is never cut at its right end: the terminal breaks the line.
    enum class Kind { text, number, address, elastic, elastic_end, words };
    struct Column {
        std::string title;
        Kind kind = Kind::text;
    };

    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
    void add(std::vector<std::string> row);  ///< one cell per column
    void print(Page& page) const;

  private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

/// `1 graph`, `2 graphs`.
std::string counted(unsigned long long count, const char* what);

}  // namespace keepgraph::cli
