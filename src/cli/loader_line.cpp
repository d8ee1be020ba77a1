// SPDX-License-Identifier: Apache-2.0
#include "cli/loader_line.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace keepgraph::cli {
namespace {

constexpr std::array<std::string_view, 4> search_with_value{"--library-path", "--inhibit-rpath",
                                                            "--glibc-hwcaps-prepend", "--glibc-hwcaps-mask"};
constexpr std::array<std::string_view, 3> other_with_value{"--audit", "--preload", "--argv0"};
constexpr std::array<std::string_view, 6> run_nothing{"--list",          "--verify",           "--help",
                                                      "--list-tunables", "--list-diagnostics", "--version"};
constexpr std::array<std::string_view, 1> search_alone{"--inhibit-cache"};

template <std::size_t count>
bool is_one_of(const std::array<std::string_view, count>& options, const std::string& word) {
    return std::find(options.begin(), options.end(), word) != options.end();
}

}  // namespace

bool is_loader(const ElfFile& file) {
    return file.dynamic && file.interpreter.empty() && file.defines("_rtld_global") && file.defines("__tls_get_addr");
}

LoaderLine parse_loader_line(const std::vector<std::string>& words) {
    LoaderLine line;
    for (std::size_t at = 1; at < words.size(); ++at) {
        const std::string& word = words[at];
        if (word.rfind("--", 0) != 0) {
            line.program = word.find('/') != std::string::npos ? word : "";
            break;
        }
        if (is_one_of(run_nothing, word)) {
            break;
        }
        const bool search = is_one_of(search_with_value, word);
        if (search || is_one_of(search_alone, word)) {
            line.search.push_back(word);
        }
        if ((search || is_one_of(other_with_value, word)) && ++at < words.size() && search) {
            line.search.push_back(words[at]);
        }
    }
    return line;
}

}  // namespace keepgraph::cli
