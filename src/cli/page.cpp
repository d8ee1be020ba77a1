// SPDX-License-Identifier: Apache-2.0
#include "cli/page.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "report/text.h"

namespace keepgraph::cli {
namespace {

using report::columns;
using report::cut_end;
using report::cut_middle;
using report::printable;

constexpr std::size_t narrowest = 40;

std::size_t width_of_terminal() {
    if (const char* text = std::getenv("COLUMNS")) {
        std::size_t width = 0;
        const char* end = text + std::strlen(text);
        if (std::from_chars(text, end, width).ptr == end && width > 0)
            return width;
    }
    winsize size{};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void trim_end(std::string& line) {
    line.erase(line.find_last_not_of(' ') + 1);
}

}  // namespace

Screen Screen::of_stdout() {
    Screen screen;
    if (isatty(STDOUT_FILENO) == 0)
        return screen;
    if (const std::size_t width = width_of_terminal(); width != 0)
        screen.width = std::max(width, narrowest);
    const char* terminal = std::getenv("TERM");
    screen.colours = std::getenv("NO_COLOR") == nullptr && terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
    return screen;
}

void Page::heading(std::string_view title) {
    if (!text_.empty())
        blank();
    const std::string clean = printable(title);
    text_ += screen_.colours ? "\033[1m" + clean + "\033[0m\n" : clean + "\n";
}

void Page::line(std::string_view text) {
    const std::string clean = printable(text);
    text_ += (screen_.full ? clean : cut_end(clean, screen_.width)) + "\n";
}

void Page::paragraph(std::string_view text, std::size_t indent) {
    wrapped(text, indent, "");
}

void Page::alarm(std::string_view text) {
    wrapped(text, 4, screen_.colours ? "\033[1;31m" : "");
}

void Page::wrapped(std::string_view text, std::size_t indent, const char* colour) {
    const std::string clean = printable(text);
    std::string_view rest = clean;
    std::string line;
    std::size_t used = 0;
    text_ += colour;
    bool first_word = true;
    while (!rest.empty()) {
        // Leading blanks belong to the word: they are the indentation of the first line, and gaps between labels.
        const std::size_t start = std::min(rest.find_first_not_of(' '), rest.size());
        const std::size_t end = std::min(rest.find(' ', start), rest.size());
        std::string word(rest.substr(0, end));
        rest.remove_prefix(end);
        if (!first_word && used + columns(word) > screen_.width) {
            text_ += line + "\n";
            line.assign(indent, ' ');
            used = indent;
            word.erase(0, word.find_first_not_of(' ') == std::string::npos ? word.size() : word.find_first_not_of(' '));
        }
        if (!screen_.full && screen_.width > used)
            word = cut_middle(word, screen_.width - used);
        used += columns(word);
        line += word;
        first_word = false;
    }
    text_ += line + (*colour != '\0' ? "\033[0m\n" : "\n");
}

void Table::add(std::vector<std::string> row) {
    row.resize(columns_.size());
    for (std::string& cell : row)
        cell = printable(cell);
    rows_.push_back(std::move(row));
}

void Table::print(Page& page) const {
    constexpr std::size_t gap = 2;
    std::vector<std::size_t> widths;
    std::size_t total = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        std::size_t width = columns(columns_[i].title);
        for (const auto& row : rows_)
            width = std::max(width, columns(row[i]));
        widths.push_back(width);
        total += gap + width;
    }
    // The widest elastic column gives way first, down to the width of a short name.
    while (!page.screen().full && total > page.screen().width) {
        std::size_t widest = columns_.size();
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            if (columns_[i].kind != Kind::text && columns_[i].kind != Kind::number && widths[i] > 12 &&
                (widest == columns_.size() || widths[i] > widths[widest]))
                widest = i;
        }
        if (widest == columns_.size())
            break;
        --widths[widest];
        --total;
    }
    const auto print_row = [&](const auto& cell_of) {
        std::string line;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            const std::string cell = columns_[i].kind == Kind::elastic_end ? cut_end(cell_of(i), widths[i])
                                                                           : cut_middle(cell_of(i), widths[i]);
            const std::string padding(widths[i] - columns(cell), ' ');
            line += std::string(gap, ' ') + (columns_[i].kind == Kind::number ? padding + cell : cell + padding);
        }
        trim_end(line);
        page.line(line);
    };
    print_row([&](std::size_t i) { return columns_[i].title; });
    for (const auto& row : rows_)
        print_row([&](std::size_t i) { return row[i]; });
}

std::string counted(unsigned long long count, const char* what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace keepgraph::cli
