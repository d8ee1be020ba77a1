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

// What glibc says of its search with LD_DEBUG=libs, one line each behind the process id:
//     find library=libx.so.1 [0]; searching
//      search path=/a:/b        (RUNPATH from file /x/module.so)
//      search cache=/etc/ld.so.cache
//       trying file=/a/libx.so.1
// The last file that was tried before the next search is the one that was found. Not read from the run paths of the
// files: whose count, in which order and with what in place of $ORIGIN, $LIB and hardware folders is the loader's to
// say.
void add_where_found(Listing& listing, std::string_view debug) {
    std::string name;
    std::string from;
    const auto behind = [](std::string_view line, std::string_view key) {
        const std::size_t at = line.find(key);
        return at == std::string_view::npos ? std::string_view{} : line.substr(at + key.size());
    };
    while (!debug.empty()) {
        const std::size_t end = debug.find('\n');
        const std::string_view line = debug.substr(0, end);
        debug = end == std::string_view::npos ? std::string_view{} : debug.substr(end + 1);
        if (const std::string_view found = behind(line, "find library="); !found.empty()) {
            name = found.substr(0, found.find(" ["));
            from.clear();
        } else if (const std::string_view cache = behind(line, "search cache="); !cache.empty()) {
            from = cache;
        } else if (!behind(line, "search path=").empty()) {
            const std::size_t open = line.rfind("\t(");
            from = open == std::string_view::npos ? "" : line.substr(open + 2, line.rfind(')') - open - 2);
        } else if (const std::string_view file = behind(line, "trying file="); !file.empty()) {
            for (LoadedObject& object : listing.objects) {
                if (object.name == name && object.path == file) {
                    object.found_by = from;
                }
            }
        }
    }
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
    std::vector<std::string> traced = words;
    words.insert(words.end(), {"--list", path});
    std::vector<std::string> environment =
        environment_without({"LD_PRELOAD", "LD_AUDIT", "LD_DEBUG", "LD_DEBUG_OUTPUT", "LD_VERBOSE"});
    environment.emplace_back("LD_DEBUG=libs");
    Captured listed = capture(words, environment);
    if (listed.err.find("error while loading shared libraries: ") != std::string::npos) {
        // With --list glibc ends at the first library that it does not find. The variable makes it go on; a loader that
        // did not know it could not run the program either.
        environment.emplace_back("LD_TRACE_LOADED_OBJECTS=1");
        traced.push_back(path);
        listed = capture(traced, environment);
    }
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
    add_where_found(listing, listed.err);
    return listing;
}

}  // namespace keepgraph::cli
