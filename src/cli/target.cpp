// SPDX-License-Identifier: Apache-2.0
#include "cli/target.h"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

#include "cli/loader_line.h"
#include "cli/script_line.h"

namespace keepgraph::cli {
namespace {

// The kernel follows five `#!` lines, then ELOOP.
constexpr int deepest_script = 5;

int error_of(const std::string& path) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) {
        return errno;
    }
    if (S_ISDIR(info.st_mode)) {
        return EISDIR;
    }
    return S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0 ? 0 : EACCES;
}

bool later(const std::string& one, const std::string& other) {
    return strverscmp(one.c_str(), other.c_str()) > 0;
}

/// "" when the shim's versioned symbols are all there.
std::string glibc_problem(const Executable& program, const std::string& shim_path, const ElfFile& shim) {
    std::optional<Listing> of_shim;
    std::string missing_version;
    std::string missing_in;
    for (const auto& [file, version] : shim.version_needs) {
        std::string path = program.libraries.path_of(file);
        if (path.empty() && file.rfind("ld-", 0) == 0) {
            path = program.elf.interpreter;
        }
        if (path.empty()) {
            // A program without that library: the shim brings it in, from where this loader finds it.
            if (!of_shim) {
                of_shim = list_libraries(program.elf.interpreter, shim_path);
            }
            path = of_shim->path_of(file);
        }
        const std::optional<ElfFile> library = path.empty() ? std::nullopt : ElfFile::open(path);
        if (!library) {
            return "its loader " + program.elf.interpreter + " finds no " + file + ", which the shim needs";
        }
        const auto& has = library->version_definitions;
        if (std::find(has.begin(), has.end(), version) == has.end() &&
            (missing_version.empty() || later(version, missing_version))) {
            missing_version = version;
            missing_in = path;
            const std::string newest = newest_glibc(*library);
            missing_in += newest.empty() ? " (which is not glibc)" : " (which ends at " + newest + ")";
        }
    }
    return missing_version.empty() ? "" : "the shim needs " + missing_version + ", which is not in " + missing_in;
}

/// Of a file that is executed; what a loader is told to load has no such rights.
std::string rights_problem(const std::string& path) {
    struct stat info {};
    if (stat(path.c_str(), &info) == 0 && (info.st_mode & (S_ISUID | S_ISGID)) != 0) {
        // Also where it would change nobody's rights: the same command would work for one user and not for another.
        return std::string((info.st_mode & S_ISUID) != 0 ? "it is setuid" : "it is setgid") +
               ": the loader ignores LD_PRELOAD there";
    }
    if (getxattr(path.c_str(), "security.capability", nullptr, 0) > 0) {
        return "it has file capabilities: the loader ignores LD_PRELOAD there";
    }
    return "";
}

std::string preload_problem(const Executable& program, const std::string& shim_path, const ElfFile* shim) {
    if (std::string other = other_machine(program.elf, shim); !other.empty()) {
        return other;
    }
    if (is_shared_library(program.elf)) {
        return "it is a shared library, not a program";
    }
    if (program.elf.interpreter.empty()) {
        return "it is linked statically: no loader runs there, so nothing can be preloaded";
    }
    return shim != nullptr ? glibc_problem(program, shim_path, *shim) : "";
}

/// The loader that this command was started by, which is that of other programs here.
std::string own_loader() {
    const std::optional<ElfFile> own = ElfFile::open("/proc/self/exe");
    return own ? own->interpreter : "";
}

/// What the loader would load for it, and for a library that a program opens, as far as its own run paths go.
Listing libraries_of(const Executable& executable, const ElfFile* shim) {
    if (shim != nullptr && executable.elf.machine != shim->machine) {
        return {};
    }
    const std::string loader = is_shared_library(executable.elf) ? own_loader() : executable.elf.interpreter;
    return loader.empty() ? Listing{} : list_libraries(loader, executable.path);
}

/// Nothing when the words tell of no program, or of one that the loader will complain of itself.
std::optional<Executable> behind_loader(const std::string& loader, const std::vector<std::string>& words) {
    const LoaderLine line = parse_loader_line(words);
    std::optional<ElfFile> elf = line.program.empty() ? std::nullopt : ElfFile::open(line.program);
    if (!elf) {
        return std::nullopt;
    }
    Executable program{line.program, std::move(*elf), {}};
    if (!program.elf.interpreter.empty()) {
        program.elf.interpreter = loader;
        program.libraries = list_libraries(loader, line.program, line.search);
    }
    return program;
}

}  // namespace

std::string other_machine(const ElfFile& elf, const ElfFile* shim) {
    return shim != nullptr && (elf.elf_class != shim->elf_class || elf.machine != shim->machine ||
                               elf.byte_order != shim->byte_order)
               ? "it is for " + machine_text(elf) + ", the shim for " + machine_text(*shim)
               : "";
}

Found find_program(const std::string& program) {
    if (program.empty()) {
        return {program, ENOENT};
    }
    if (program.find('/') != std::string::npos) {
        return {program, error_of(program)};
    }
    const char* variable = std::getenv("PATH");
    std::string_view folders = variable != nullptr ? variable : "/bin:/usr/bin";
    Found denied{program, ENOENT};
    while (true) {
        const std::size_t colon = folders.find(':');
        const std::string folder(folders.substr(0, colon));
        const std::string path = folder.empty() ? program : folder + "/" + program;
        const int error = error_of(path);
        if (error == 0) {
            return {path, 0};
        }
        if (error == EACCES || error == EISDIR) {
            denied = {path, EACCES};
        }
        if (colon == std::string_view::npos) {
            return denied;
        }
        folders.remove_prefix(colon + 1);
    }
}

Target inspect(const std::vector<std::string>& words, const std::string& shim_path, const ElfFile* shim) {
    Target target;
    const std::string& program = words.at(0);
    const auto refuse = [&](int code, const std::string& reason) {
        if (!target.refusal) {
            target.refusal = Refusal{code, reason};
        }
    };
    // Paths that are left to look at; a script puts its interpreter there, `env NAME` the program NAME as well.
    std::vector<std::string> ahead;
    const Found found = find_program(program);
    target.path = found.path;
    if (found.error != 0) {
        const bool missing = found.error == ENOENT || found.error == ENOTDIR;
        refuse(missing ? exit_not_found : exit_not_executable,
               (program.empty() ? "an empty name" : program) + ": " +
                   (missing ? "not found" : std::strerror(found.error)));
        // Packages install their libraries without the right to be executed.
        std::optional<ElfFile> library = found.error == EACCES ? ElfFile::open(found.path) : std::nullopt;
        if (library && is_shared_library(*library)) {
            Executable executable{found.path, std::move(*library), {}};
            executable.libraries = libraries_of(executable, shim);
            target.executables.push_back(std::move(executable));
        }
        return target;
    }
    const auto look_at = [&](const Executable& executable, const std::string& problem) {
        const std::string reason = problem.empty() ? preload_problem(executable, shim_path, shim) : problem;
        if (!reason.empty()) {
            refuse(exit_refused, executable.path + ": " + reason);
        }
    };
    ahead.push_back(found.path);
    while (!ahead.empty()) {
        const std::string path = ahead.front();
        ahead.erase(ahead.begin());
        if (std::optional<ElfFile> elf = ElfFile::open(path)) {
            Executable executable{path, std::move(*elf), {}};
            const std::string rights = rights_problem(path);
            if (path == found.path && is_loader(executable.elf)) {
                const std::string reason = rights.empty() ? other_machine(executable.elf, shim) : rights;
                if (!reason.empty()) {
                    refuse(exit_refused, path + ": " + reason);
                } else if (std::optional<Executable> behind = behind_loader(path, words)) {
                    look_at(*behind, "");
                    target.executables.push_back(std::move(*behind));
                }
                continue;
            }
            executable.libraries = libraries_of(executable, shim);
            look_at(executable, rights);
            target.executables.push_back(std::move(executable));
            continue;
        }
        std::ifstream file(path, std::ios::binary);
        if (!file) {
            continue;  // may be executed but not read: the kernel will do so, and nothing can be said about it
        }
        target.scripts.push_back(path);
        if (target.scripts.size() > deepest_script) {
            refuse(exit_not_executable, path + ": " + std::strerror(ELOOP));
            return target;
        }
        std::string line(script_line_limit, '\0');
        file.read(line.data(), static_cast<std::streamsize>(line.size()));
        line.resize(static_cast<std::size_t>(file.gcount()));
        const ScriptLine script = parse_script_line(line);
        if (script.interpreter.empty()) {
            // Only the program itself: for an interpreter the kernel has no such mercy.
            if (target.scripts.size() > 1) {
                refuse(exit_not_executable, path + ": " + std::strerror(ENOEXEC));
                return target;
            }
            target.shell_script = true;
            ahead.push_back("/bin/sh");
            continue;
        }
        const int error = error_of(script.interpreter);
        if (error != 0) {
            refuse(error == ENOENT ? exit_not_found : exit_not_executable,
                   path + ": its interpreter " + script.interpreter + ": " + std::strerror(error));
            return target;
        }
        ahead.push_back(script.interpreter);
        if (!script.through_env.empty()) {
            // When env does not find it, env says so.
            const Found behind = find_program(script.through_env);
            if (behind.error == 0) {
                ahead.push_back(behind.path);
            }
        }
    }
    return target;
}

std::vector<std::string> sanitizer_runtimes(const Target& target) {
    std::vector<std::string> runtimes;
    for (const Executable& executable : target.executables) {
        for (const LoadedObject& object : executable.libraries.objects) {
            for (const char* name :
                 {"libasan.so", "libtsan.so", "libhwasan.so", "libclang_rt.asan", "libclang_rt.tsan"}) {
                if (object.name.rfind(name, 0) == 0 && !object.path.empty() &&
                    std::find(runtimes.begin(), runtimes.end(), object.path) == runtimes.end()) {
                    runtimes.push_back(object.path);
                }
            }
        }
    }
    return runtimes;
}

std::string static_sanitizer(const ElfFile& elf) {
    return elf.defines("__asan_init") ? "asan" : elf.defines("__tsan_init") ? "tsan" : "";
}

}  // namespace keepgraph::cli
