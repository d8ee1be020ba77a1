// SPDX-License-Identifier: Apache-2.0
#include "cli/cudart_link.h"

namespace keepgraph::cli {
namespace {

bool is_of_cuda(const std::string& name) {
    return name.rfind("libcudart.so", 0) == 0 || name.rfind("libcuda.so", 0) == 0;
}

// cudart's own list of error names, and the name under which it opens the driver. Symbols are gone from stripped
// programs, and GPU code says nothing: it is in programs over the driver API too. Either string alone also is in
// programs that print error names or open the driver themselves.
bool has_cudart_inside(const ElfFile& elf) {
    return elf.contains("cudaErrorCudartUnloading") && elf.contains("libcuda.so.1");
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
        if (is_of_cuda(object.name)) {
            (object.name.rfind("libcudart", 0) == 0 ? link.shared_cudart : link.libcuda) = object.name;
        } else if (!object.path.empty()) {
            if (const auto library = ElfFile::open(object.path)) {
                look_into(object.path, *library);
            }
        }
    }
    return link;
}

}  // namespace keepgraph::cli
