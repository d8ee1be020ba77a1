// SPDX-License-Identifier: Apache-2.0
// An environment with several cudarts, laid out as pip and conda do it, out of the double's cudarts and the modules of
// tests/preload/runtimes. Paths are relative to the environment's folder.
#pragma once

#include <string>

#include "process.h"

namespace keepgraph::preload_tests::packages {

inline const std::string cudart12 = "lib/python3.11/site-packages/nvidia/cuda_runtime/lib/libcudart.so.12";
inline const std::string cudart13 = "lib/python3.11/site-packages/nvidia/cu13/lib/libcudart.so.13";
inline const std::string cudart_of_torch = "lib/python3.11/site-packages/torch/lib/libcudart.so.12";
inline const std::string cudart_renamed = "lib/python3.11/site-packages/renamed.libs/libcudart-5e0c1a7b.so.12.1.105";
inline const std::string cudart_of_conda = "lib/libcudart.so.12";  // a link, as all names are there but the longest

std::string module(const std::string& name);  // wheel12, wheel13, renamed, conda12
std::string host(const std::string& name);    // host, host_renamed, host_both

struct Layout {
    TempFolder folder;

    explicit Layout(bool conda);
    /// A folder with the driver alone: the double's own has cudarts, and LD_LIBRARY_PATH comes before RUNPATH.
    std::string driver() const { return folder / "driver"; }
};

}  // namespace keepgraph::preload_tests::packages
