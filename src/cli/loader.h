// SPDX-License-Identifier: Apache-2.0
//
// What a program's own loader would load for it: the loader is asked, since only it knows its cache, run paths and
// folders.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace keepgraph::cli {

struct LoadedObject {
    std::string name;  ///< as the program asks for it: libc.so.6
    std::string path;  ///< empty: not found
    /// Where the loader found it, in its own words: "RUNPATH from file /x/module.so", "LD_LIBRARY_PATH",
    /// "/etc/ld.so.cache", "system search path". Empty when it was not looked for (a path, a preload) or the loader
    /// does not tell.
    std::string found_by;
};

struct Listing {
    std::vector<LoadedObject> objects;
    /// Path of the object with that name, "" when there is none or it was not found.
    std::string path_of(std::string_view name) const;
};

/// `INTERPRETER --list FILE`, as ldd does for files that it may not execute. Not LD_TRACE_LOADED_OBJECTS=1 FILE, unless
/// --list found a library missing: a loader that does not know the variable would run the program. Preloads and audit
/// modules are left out. Empty when the loader cannot be run or does not know --list.
/// `options` are the loader's own, such as --library-path.
Listing list_libraries(const std::string& interpreter, const std::string& file,
                       const std::vector<std::string>& options = {});

}  // namespace keepgraph::cli
