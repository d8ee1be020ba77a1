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

namespace {

// Not fs::filesystem_error, whose text is made for programmers: `filesystem error: cannot ...: REASON [NAME]`.
std::runtime_error folder_error(const std::string& name, int error) {
    return std::runtime_error("cannot make the folder " + name + ": " + std::generic_category().message(error));
}

fs::path temporary_parent() {
    std::error_code error;
    const fs::path parent = fs::temp_directory_path(error);
    fs::path whole = error ? fs::path() : fs::absolute(parent, error);
    if (error) {
        const char* const given = std::getenv("TMPDIR");
        throw std::runtime_error((given != nullptr ? std::string("TMPDIR=") + given : "/tmp") +
                                 " cannot hold a temporary folder: " + error.message());
    }
    return whole;
}

}  // namespace

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
        throw std::runtime_error("KEEPGRAPH_OUT=" + pattern + ": " + folder_error(failed, error).what());
    }
    return folder.path();
}

TemporaryFolder::TemporaryFolder() {
    std::string name = (temporary_parent() / "keepgraph-XXXXXX").native();
    if (mkdtemp(name.data()) == nullptr) {
        throw folder_error(name, errno);
    }
    path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

}  // namespace keepgraph::cli
