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

/// Takes as many words from the front of `text` as fit, and at least one.
std::string take_words(std::string& text, std::size_t width) {
    std::string taken;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        const std::string word = text.substr(0, end);
        if (!taken.empty() && columns(taken) + 1 + columns(word) > width)
            break;
        taken += (taken.empty() ? "" : " ") + word;
        text.erase(0, std::min(text.find_first_not_of(' ', end), text.size()));
    }
    return taken;
}

}  // namespace

Screen Screen::of_stdout() {
    Screen screen;
    if (isatty(STDOUT_FILENO) == 0)
        return screen;
    screen.narrow = true;
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
    text_ += (screen_.full || !screen_.narrow ? clean : cut_end(clean, screen_.width)) + "\n";
}

void Page::whole_line(std::string_view text) {
    text_ += printable(text) + "\n";
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
        if (!screen_.full && screen_.narrow && screen_.width > used)
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
    // Down to the width of a short name, of eight bytes in hex, or of an address behind its name.
    constexpr std::size_t least = 16, least_of_words = 24;
    const Screen& screen = page.screen();
    const auto cut = [&](std::size_t i) {
        return columns_[i].kind == Kind::elastic || columns_[i].kind == Kind::elastic_end;
    };
    std::vector<std::size_t> widths;
    std::size_t total = 0;
    bool has_address = false;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        std::size_t width = columns(columns_[i].title);
        for (const auto& row : rows_)
            width = std::max(width, columns(row[i]));
        if (!screen.full && cut(i))
            width = std::min(width, Screen::longest_name);
        widths.push_back(width);
        total += gap + width;
        has_address = has_address || columns_[i].kind == Kind::address || columns_[i].kind == Kind::words;
    }
    // The widest elastic column gives way first.
    while (!screen.full && screen.narrow && total > screen.width) {
        std::size_t widest = columns_.size();
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            const bool gives =
                (cut(i) && widths[i] > least) || (columns_[i].kind == Kind::words && widths[i] > least_of_words);
            if (gives && (widest == columns_.size() || widths[i] > widths[widest]))
                widest = i;
        }
        if (widest == columns_.size())
            break;
        --widths[widest];
        --total;
    }
    const auto print_line = [&](const std::vector<std::string>& cells) {
        std::string line;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            const std::size_t width = columns(cells[i]);
            const std::string padding(widths[i] - std::min(widths[i], width), ' ');
            line +=
                std::string(gap, ' ') + (columns_[i].kind == Kind::number ? padding + cells[i] : cells[i] + padding);
        }
        trim_end(line);
        has_address ? page.whole_line(line) : page.line(line);
    };
    const auto print_row = [&](std::vector<std::string> rest) {
        bool more = true;
        while (more) {
            more = false;
            std::vector<std::string> cells(rest.size());
            for (std::size_t i = 0; i < columns_.size(); ++i) {
                if (columns_[i].kind == Kind::words) {
                    cells[i] = take_words(rest[i], widths[i]);
                } else {
                    cells[i] = !cut(i)                                 ? rest[i]
                               : columns_[i].kind == Kind::elastic_end ? cut_end(rest[i], widths[i])
                                                                       : cut_middle(rest[i], widths[i]);
                    rest[i].clear();
                }
                more = more || !rest[i].empty();
            }
            print_line(cells);
        }
    };
    std::vector<std::string> titles;
    for (const Column& column : columns_)
        titles.push_back(column.title);
    print_row(titles);
    for (const auto& row : rows_)
        print_row(row);
}

std::string counted(unsigned long long count, const char* what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace keepgraph::cli
