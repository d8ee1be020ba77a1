// SPDX-License-Identifier: Apache-2.0
#include "cli/cudart_link.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "cli/preload.h"

namespace keepgraph::cli {
namespace {

namespace fs = std::filesystem;

/// Sorted; none when the folder cannot be read.
std::vector<fs::path> entries(const fs::path& folder) {
    std::vector<fs::path> result;
    std::error_code failed;
    for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
        result.push_back(it->path());
    }
    std::sort(result.begin(), result.end());
    return result;
}

/// Also as auditwheel renames it when a wheel brings its own: libcudart-5e0c1a7b.so.12.1.105.
bool is_cudart(const std::string& name) {
    return (name.rfind("libcudart.", 0) == 0 || name.rfind("libcudart-", 0) == 0) &&
           name.find(".so") != std::string::npos;
}

bool is_libcuda(const std::string& name) {
    return name.rfind("libcuda.so", 0) == 0;
}

// cudart's own list of error names, and the name under which it opens the driver. Symbols are gone from stripped
// programs, and GPU code says nothing: it is in programs over the driver API too. Either string alone also is in
// programs that print error names or open the driver themselves. The shim does both.
bool has_cudart_inside(const ElfFile& elf) {
    return elf.contains("cudaErrorCudartUnloading") && elf.contains("libcuda.so.1") && !is_shim(elf);
}

}  // namespace

CudaLink cuda_link(const Executable& executable) {
    CudaLink link;
    const auto look_into = [&](const std::string& path, const ElfFile& elf) {
        if (has_cudart_inside(elf)) {
            link.static_cudart.push_back(path);
        }
        if (elf.has_section(".nv_fatbin") || elf.has_section(".nvFatBinSegment")) {
            link.device_code.push_back(path);
        }
    };
    look_into(executable.path, executable.elf);
    for (const LoadedObject& object : executable.libraries.objects) {
        if (is_cudart(object.name)) {
            link.shared_cudart.push_back(object);
        } else if (is_libcuda(object.name)) {
            link.libcuda = object.name;
        } else if (!object.path.empty()) {
            if (const auto library = ElfFile::open(object.path)) {
                look_into(object.path, *library);
            }
        }
    }
    return link;
}

std::vector<std::string> cudarts_of_packages(const std::string& program) {
    // Not where links lead to: bin/python of a virtual environment is one to the system's.
    std::error_code ignored;
    const fs::path prefix = fs::absolute(program, ignored).parent_path().parent_path();
    std::vector<fs::path> folders{prefix / "lib"};
    bool packages = false;
    for (const fs::path& python : entries(prefix / "lib")) {
        const fs::path site = python / "site-packages";
        if (python.filename().native().rfind("python3", 0) != 0 || !fs::is_directory(site, ignored)) {
            continue;
        }
        packages = true;
        folders.push_back(site / "torch/lib");
        for (const fs::path& package : entries(site / "nvidia")) {
            folders.push_back(package / "lib");
        }
        for (const fs::path& package : entries(site)) {
            if (package.extension() == ".libs") {
                folders.push_back(package);
            }
        }
    }
    std::vector<std::string> found;
    std::set<fs::path> files;  // conda has three names for one file
    for (const fs::path& folder : packages ? folders : std::vector<fs::path>{}) {
        for (const fs::path& file : entries(folder)) {
            if (is_cudart(file.filename()) && files.insert(fs::canonical(file, ignored)).second) {
                found.push_back(file);
            }
        }
    }
    return found;
}

}  // namespace keepgraph::cli
