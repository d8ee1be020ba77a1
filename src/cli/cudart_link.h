// SPDX-License-Identifier: Apache-2.0
//
// How a program reaches CUDA, as far as its files tell.
#pragma once

#include <string>
#include <vector>

#include "cli/target.h"

namespace keepgraph::cli {

struct CudaLink {
    std::string shared_cudart;               ///< name of the libcudart.so.N that is loaded with it
    std::string libcuda;                     ///< name of the libcuda.so.1 that is loaded with it
    std::vector<std::string> static_cudart;  ///< the program or libraries of it that have a cudart inside
    std::vector<std::string> device_code;    ///< those with GPU code
};
CudaLink cuda_link(const Executable& executable);

}  // namespace keepgraph::cli
