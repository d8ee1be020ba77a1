// SPDX-License-Identifier: Apache-2.0
#include "cli/loader.h"

#include "cli/subprocess.h"

namespace keepgraph::cli {
namespace {

// `libc.so.6 => /lib/libc.so.6 (0x7f..)`, `libx.so => not found`, `/lib64/ld-linux-x86-64.so.2 (0x7f..)`
LoadedObject object_of(std::string_view line) {
    while (!line.empty() && (line.front() == '\t' || line.front() == ' ')) {
        line.remove_prefix(1);
    }
    const std::size_t address = line.rfind(" (0x");
    if (address != std::string_view::npos) {
        line = line.substr(0, address);
    }
    constexpr std::string_view arrow = " => ";
    const std::size_t at = line.find(arrow);
    std::string_view name = line.substr(0, at);
    std::string_view path = at == std::string_view::npos ? line : line.substr(at + arrow.size());
    if (path.find('/') == std::string_view::npos) {
        path = {};  // "not found", or the vdso, which has no file
    }
    if (at == std::string_view::npos) {
        name = name.substr(name.rfind('/') + 1);
    }
    return {std::string(name), std::string(path)};
}

}  // namespace

std::string Listing::path_of(std::string_view name) const {
    for (const LoadedObject& object : objects) {
        if (object.name == name) {
            return object.path;
        }
    }
    return {};
}

Listing list_libraries(const std::string& interpreter, const std::string& file,
                       const std::vector<std::string>& options) {
    // A name without a slash would be looked for in the library folders.
    const std::string path = file.find('/') == std::string::npos ? "./" + file : file;
    std::vector<std::string> words{interpreter};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--list", path});
    const Captured listed = capture(words, environment_without({"LD_PRELOAD", "LD_AUDIT", "LD_DEBUG", "LD_VERBOSE"}));
    Listing listing;
    std::string_view rest = listed.out;
    while (!rest.empty()) {
        const std::size_t end = rest.find('\n');
        const std::string_view line = rest.substr(0, end);
        if (!line.empty() && (line.front() == '\t' || line.front() == ' ')) {
            listing.objects.push_back(object_of(line));
        }
        rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    }
    return listing;
}

}  // namespace keepgraph::cli
