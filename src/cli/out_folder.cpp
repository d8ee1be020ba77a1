// SPDX-License-Identifier: Apache-2.0
#include "cli/out_folder.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "config/out_pattern.h"

namespace keepgraph::cli {

namespace fs = std::filesystem;

std::string literal_out(const std::string& path) {
    std::string pattern;
    for (const char c : path) {
        pattern += c;
        if (c == '%') {
            pattern += c;
        }
    }
    return pattern;
}

std::string absolute_out(const std::string& pattern) {
    if (pattern.empty() || pattern.front() == '/') {
        return pattern;
    }
    return literal_out(fs::current_path().native()) + "/" + pattern;
}

fs::path make_fresh_folder(const std::string& pattern) {
    std::string name = config::expand_out(pattern, config::out_context());
    while (name.size() > 1 && name.back() == '/') {
        name.pop_back();
    }
    fs::create_directories(fs::path(name).parent_path());
    for (int number = 1;; ++number) {
        const std::string path = number == 1 ? name : name + "-" + std::to_string(number);
        // mkdir, not create_directory: that one is content with a folder of somebody else.
        if (mkdir(path.c_str(), 0777) == 0) {
            return path;
        }
        if (errno != EEXIST) {
            throw fs::filesystem_error("cannot make the folder", path, std::error_code(errno, std::generic_category()));
        }
    }
}

TemporaryFolder::TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "keepgraph-XXXXXX").native();
    if (mkdtemp(name.data()) == nullptr) {
        throw fs::filesystem_error("cannot make the folder", name, std::error_code(errno, std::generic_category()));
    }
    path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

}  // namespace keepgraph::cli
