// SPDX-License-Identifier: Apache-2.0
#include "cli/preload.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

namespace keepgraph::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> entries_of(std::string_view list) {
    std::vector<std::string> entries;
    while (!list.empty()) {
        const std::size_t end = list.find_first_of(": ");
        if (end != 0) {
            entries.emplace_back(list.substr(0, end));
        }
        list = end == std::string_view::npos ? std::string_view{} : list.substr(end + 1);
    }
    return entries;
}

bool is_same_library(const std::string& one, const std::string& other) {
    std::error_code ignored;
    return one == other || fs::equivalent(one, other, ignored);
}

Shim usable(const fs::path& path) {
    std::error_code error;
    const fs::path whole = fs::canonical(path, error);
    if (error || !fs::is_regular_file(whole, error)) {
        return {};
    }
    if (whole.native().find_first_of(": ") != std::string::npos) {
        return {"", whole.native() + " has a blank or a colon in its path, which LD_PRELOAD cannot hold: move it"};
    }
    return {whole.native(), ""};
}

/// "" for a shim.
std::string why_no_shim(const std::string& path) {
    const std::optional<ElfFile> file = ElfFile::open(path);
    if (!file) {
        return path + " is no ELF file";
    }
    return is_shim(*file) ? "" : path + " is not keepgraph's shim";
}

}  // namespace

bool is_shim(const ElfFile& file) {
    return file.dynamic && file.interpreter.empty() && file.defines("cuGraphLaunch") && file.defines("dlsym");
}

Shim find_shim() {
    if (const char* given = std::getenv("KEEPGRAPH_LIB"); given != nullptr && *given != '\0') {
        std::error_code ignored;
        const fs::path path = fs::is_directory(given, ignored) ? fs::path(given) / shim_name : fs::path(given);
        Shim shim = usable(path);
        std::string reason;
        if (shim.path.empty()) {
            reason = shim.problem.empty() ? "there is no file " + path.native() : shim.problem;
        } else {
            reason = why_no_shim(shim.path);
        }
        return reason.empty() ? shim
                              : Shim{"", "KEEPGRAPH_LIB=" + std::string(given) + " is not allowed: " + reason +
                                             "; use the path of " + shim_name + ", or of the folder that it is in"};
    }
    std::error_code error;
    const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
    // KEEPGRAPH_LIBDIR is where this build installs libraries, below the prefix (lib/x86_64-linux-gnu on Debian).
    const std::vector<fs::path> folders{here / "../../preload", here / ".." / KEEPGRAPH_LIBDIR, here / "../lib",
                                        here / "../lib64"};
    std::string tried;
    for (const fs::path& folder : folders) {
        Shim shim = usable(folder / shim_name);
        if (!shim.path.empty() || !shim.problem.empty()) {
            return shim;
        }
        tried += (tried.empty() ? "" : ", ") + folder.lexically_normal().native();
    }
    return {"", std::string(shim_name) + " is in none of " + tried + "; name it with KEEPGRAPH_LIB"};
}

std::string preload_chain(const std::vector<std::string>& first, const std::string& shim, const char* existing) {
    std::vector<std::string> chain = first;
    chain.push_back(shim);
    for (const std::string& entry : entries_of(existing != nullptr ? existing : "")) {
        // Two copies of the shim, say of two versions, would each keep their own books.
        const bool other_shim = fs::path(entry).filename() == shim_name;
        const bool there = std::any_of(chain.begin(), chain.end(),
                                       [&](const std::string& have) { return is_same_library(have, entry); });
        if (!other_shim && !there) {
            chain.push_back(entry);
        }
    }
    std::string text;
    for (const std::string& entry : chain) {
        text += (text.empty() ? "" : ":") + entry;
    }
    return text;
}

}  // namespace keepgraph::cli
