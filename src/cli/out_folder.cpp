// SPDX-License-Identifier: Apache-2.0
#include "cli/out_folder.h"

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <system_error>

#include "config/out_pattern.h"
#include "report/own_folder.h"

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
    std::error_code error;
    const fs::path here = fs::current_path(error);
    if (error) {
        throw std::runtime_error("OUT=" + pattern + " is relative, and the working directory cannot be named (" +
                                 error.message() + "); --out with an absolute path needs none");
    }
    return literal_out(here.native()) + "/" + pattern;
}

fs::path make_fresh_folder(const std::string& pattern) {
    const fs::path name = config::expand_out(absolute_out(pattern), config::out_context());
    report::OwnFolder folder;
    std::string failed;
    if (const int error = folder.make(name.native(), failed); error != 0) {
        throw fs::filesystem_error("cannot make the folder", failed, std::error_code(error, std::generic_category()));
    }
    return folder.path();
}

TemporaryFolder::TemporaryFolder() {
    std::string name = (fs::absolute(fs::temp_directory_path()) / "keepgraph-XXXXXX").native();
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
