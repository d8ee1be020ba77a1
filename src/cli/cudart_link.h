// SPDX-License-Identifier: Apache-2.0
//
// How a program reaches CUDA, as far as its files tell.
#pragma once

#include <string>
#include <vector>

#include "cli/target.h"

namespace keepgraph::cli {

struct CudaLink {
    std::vector<LoadedObject> shared_cudart;  ///< each libcudart.so.N that is loaded with it, and how it is found
    std::string libcuda;                      ///< name of the libcuda.so.1 that is loaded with it
    std::vector<std::string> static_cudart;   ///< the program or libraries of it that have a cudart inside
    std::vector<std::string> device_code;     ///< those with GPU code
};
CudaLink cuda_link(const Executable& executable);

/// The cudarts that pip and conda put into the environment of a program PREFIX/bin/NAME, where Python's packages may
/// load them from: PREFIX/lib, and nvidia/*/lib, torch/lib and *.libs of site-packages. Empty without site-packages.
std::vector<std::string> cudarts_of_packages(const std::string& program);

}  // namespace keepgraph::cli
