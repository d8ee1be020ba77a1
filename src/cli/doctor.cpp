// SPDX-License-Identifier: Apache-2.0
// keepgraph doctor: what will work here, and what the shim will and will not see of a program.
#include "cli/doctor.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/cudart_link.h"
#include "cli/help.h"
#include "cli/machine.h"
#include "cli/preload.h"
#include "cli/target.h"

namespace keepgraph::cli {
namespace {

struct DoctorOptions {
    std::optional<std::string> program;  ///< "" is one that is not there: `doctor "$APP"` without the variable
    bool coverage = false;
};

constexpr const char* usage =
    "usage: keepgraph doctor [PROGRAM]\n"
    "       keepgraph doctor --coverage PROGRAM\n"
    "       keepgraph doctor --coverage -- PROGRAM [ARGUMENTS...]";

int wrong_usage(const std::string& problem) {
    std::fprintf(stderr, "keepgraph: %s\n%s\nMore: keepgraph doctor --help\n", problem.c_str(), usage);
    return exit_usage;
}

const char* kind_of(const ElfFile& elf) {
    const bool pie = elf.type == ET_DYN;
    if (elf.interpreter.empty()) {
        return !pie ? "static program" : is_shared_library(elf) ? "shared library" : "static-pie program";
    }
    return pie ? "dynamic program (pie)" : "dynamic program";
}

std::string glibc_of(const Executable& program) {
    const std::string path = program.libraries.path_of("libc.so.6");
    const auto library = path.empty() ? std::nullopt : ElfFile::open(path);
    if (!library) {
        return "";
    }
    const std::string newest = newest_glibc(*library);
    return path + (newest.empty() ? " (not glibc)" : " (up to " + newest + ")");
}

void say_cudarts(const Executable& program, const CudaLink& link) {
    for (const LoadedObject& cudart : link.shared_cudart) {
        say("cudart", "shared (" + cudart.name + "), " + (cudart.path.empty() ? "not found" : cudart.path) +
                          (cudart.found_by.empty() ? "" : ", by " + cudart.found_by));
    }
    if (link.shared_cudart.size() > 1) {
        say("note", "more than one cudart: each call is seen, and goes to the one that its caller is linked to");
    }
    if (!link.static_cudart.empty()) {
        say("cudart", "static, inside " + fmt::format("{}", fmt::join(link.static_cudart, ", ")));
    }
    if (link.shared_cudart.empty() && link.static_cudart.empty()) {
        say("cudart", "none linked");
    }
    const std::vector<std::string> packages = cudarts_of_packages(program.path);
    for (const std::string& path : packages) {
        say("package", path);
    }
    if (!packages.empty()) {
        say("note",
            "modules of packages may load these cudarts; `keepgraph doctor MODULE.so` says which one the loader finds "
            "for "
            "a module, as long as no other one of that name is loaded");
    }
}

void say_cuda(const Executable& program) {
    const CudaLink link = cuda_link(program);
    say_cudarts(program, link);
    say("libcuda", link.libcuda.empty() ? "not linked" : "linked (" + link.libcuda + ")");
    if (!link.device_code.empty()) {
        say("GPU code", "in " + fmt::format("{}", fmt::join(link.device_code, ", ")));
    }
    if (!link.shared_cudart.empty()) {
        say("seen by", "driver door (all book-keeping) and runtime door (names of the cuda... calls above it)");
    } else if (!link.static_cudart.empty()) {
        say("seen by",
            "driver door (all book-keeping); calls inside a static cudart go past the runtime door, so "
            "their names show only as stack frames");
    } else if (!link.libcuda.empty()) {
        say("seen by", "driver door (all book-keeping)");
    } else {
        say("seen by", program.elf.interpreter.empty() && !is_shared_library(program.elf)
                           ? "nothing: a static program loads no preload"
                           : "whatever it loads with dlopen (Python does so): driver door, and runtime door for a "
                             "shared cudart; the files cannot tell");
    }
}

void say_blind_spots(const Executable& program) {
    std::vector<std::string> spots;
    if (program.elf.symbolic) {
        spots.push_back("linked with -Bsymbolic: CUDA functions that it defines itself are called past the shim");
    }
    const std::string sanitizer = static_sanitizer(program.elf);
    if (!sanitizer.empty()) {
        spots.push_back("has " + sanitizer + " inside: its runtime cannot be put before the shim");
    }
    if (program.elf.imports("dlmopen")) {
        spots.push_back("calls dlmopen: a library in a namespace of its own has no shim in it");
    }
    if (program.elf.imports("dlopen")) {
        spots.push_back(
            "calls dlopen: with RTLD_DEEPBIND a library looks symbols up past every preload. Its files "
            "cannot tell whether it does; --coverage and the last line of a run show what was seen");
    }
    for (const std::string& spot : spots) {
        say("blind spot", spot);
    }
}

void say_environment() {
    const auto tell = [](const char* name, const char* meaning) {
        const char* value = std::getenv(name);
        if (value != nullptr && *value != '\0') {
            say("note", std::string(name) + "=" + value + ": " + meaning);
        }
    };
    tell("LD_PRELOAD", "stays, behind the shim");
    tell("LD_AUDIT", "an audit module may bind calls to CUDA past the shim");
    tell("CUDA_INJECTION64_PATH", "another tool is loaded into the driver (nsys and CUPTI tools do so)");
    tell("NVTX_INJECTION64_PATH", "another tool listens to NVTX");
    tell("NV_COMPUTE_PROFILER_PERFWORKS_DIR", "Nsight Compute is about to take the process");
    tell("NV_NSIGHT_INJECTION_TRANSPORT_TYPE", "Nsight is about to take the process");
    tell("NV_SANITIZER_INJECTION_PORT_BASE", "compute-sanitizer is about to take the process");
}

/// What is said of a library: nobody runs it, so neither its file mode nor its lack of a loader is a fault.
bool say_library_verdict(const ElfFile& library, const ElfFile* shim) {
    if (const std::string other = other_machine(library, shim); !other.empty()) {
        say("verdict", "a shared library that no program under the shim can load: " + other);
        return false;
    }
    say("verdict", is_shim(library) ? "keepgraph's own shim: keepgraph run preloads it"
                                    : "a shared library: the program that loads it decides (keepgraph doctor PROGRAM)");
    return true;
}

bool say_program(const std::vector<std::string>& words, const Shim& shim) {
    const auto shim_elf = shim.path.empty() ? std::nullopt : ElfFile::open(shim.path);
    const Target target = inspect(words, shim.path, shim_elf ? &*shim_elf : nullptr);
    say("program", target.path);
    for (const std::string& script : target.scripts) {
        say("script", script + (target.shell_script && script == target.path ? " (no #! line: /bin/sh)" : ""));
    }
    for (const Executable& executable : target.executables) {
        say("file", executable.path + ": " + kind_of(executable.elf) + ", " + machine_text(executable.elf));
        if (!executable.elf.interpreter.empty()) {
            say("loader", executable.elf.interpreter);
        }
        if (const std::string glibc = glibc_of(executable); !glibc.empty()) {
            say("glibc", glibc);
        }
        for (const LoadedObject& object : executable.libraries.objects) {
            if (object.path.empty() && object.name.rfind("linux-", 0) != 0) {
                say("missing", object.name + ": the loader does not find it");
            }
        }
        say_cuda(executable);
        say_blind_spots(executable);
    }
    const Executable* first = target.executables.empty() ? nullptr : &target.executables.front();
    if (first != nullptr && first->path == target.path && is_shared_library(first->elf)) {
        return say_library_verdict(first->elf, shim_elf ? &*shim_elf : nullptr);
    }
    const std::vector<std::string> runtimes = sanitizer_runtimes(target);
    if (!runtimes.empty()) {
        say("sanitizer", fmt::format("{}", fmt::join(runtimes, ", ")) + ": `keepgraph run` puts it before the shim");
    }
    say("verdict",
        target.refusal ? "cannot be run: " + target.refusal->reason : "can be run: keepgraph run -- " + words[0]);
    return !target.refusal;
}

int doctor(const DoctorOptions& options) {
    std::vector<std::string> words = program_line();
    if (options.program) {
        if (!words.empty()) {
            return wrong_usage("two programs are given: " + *options.program + ", and " + words[0] + " behind --");
        }
        words = {*options.program};
    }
    if (options.coverage) {
        if (words.empty()) {
            return wrong_usage("no program is given");
        }
        return report_coverage(words);
    }
    say("keepgraph", KEEPGRAPH_VERSION);
    const Shim shim = find_shim();
    const Check loads = shim_loads(shim);
    say("shim", loads.text);
    say("driver", driver_here().text);
    say("CUPTI", cupti_here().text);
    say_environment();
    // No driver is no reason: a program may bring its own, or run on another machine.
    return (words.empty() || say_program(words, shim)) && loads.good ? 0 : 1;
}

}  // namespace

void say(const std::string& key, const std::string& text) {
    std::printf("%-10s %s\n", key.c_str(), text.c_str());
}

void add_doctor(CLI::App& app, int& exit_code) {
    auto options = std::make_shared<DoctorOptions>();
    CLI::App* command = app.add_subcommand("doctor", "Tell what works here, and what the shim will see of a program");
    set_help(*command, usage);
    command
        ->add_option("PROGRAM", options->program,
                     "A program or script: how it is linked, which cudart it gets and from where, what cannot be seen "
                     "of it. Or a library that programs open, such as a Python module. Default: "
                     "none, this machine alone.")
        ->type_name("");
    command->add_flag("--coverage", options->coverage,
                      "Run the program (with arguments: behind --) under the shim, and list the driver functions that "
                      "look-ups handed "
                      "out with a wrapper and without. The program's own output comes first. Default: off.");
    command->footer(
        "Examples:\n"
        "  keepgraph doctor\n"
        "  keepgraph doctor ./app\n"
        "  keepgraph doctor venv/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so\n"
        "  keepgraph doctor --coverage -- ./app arguments\n"
        "The program is not run without --coverage, its loader is (as ldd does): do not use it on files that you "
        "would not run.\n"
        "Exit codes: 0 it can be run under the shim, or is a library (with --coverage: it ran, and the list was made); "
        "1 it cannot; 2 "
        "wrong usage; "
        "--coverage also those of run: 125, 126, 127.");
    command->callback([options, &exit_code] { exit_code = doctor(*options); });
}

}  // namespace keepgraph::cli
