// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <link.h>

namespace keepgraph::preload {

/// Does the address lie in a cudart? By the name of its file: libcudart.so.13, or as wheels rename it when they bring
/// their own, libcudart-5e0c1a7b.so.12.1.105.
bool in_cudart(const void* address) noexcept;
bool is_cudart_name(const char* file_name) noexcept;

/// The cudart that the loader bound the module's references to, read from the module itself: the place of a function
/// of cudart that nobody interposes, such as cudaGetLastError or, in every module with kernels,
/// __cudaRegisterFatBinary. Null when there is none, or none was called so far in a module that is bound lazily.
///
/// This is what the loader decided, with all that it alone knows: two files of one SONAME, of which the one that was
/// opened RTLD_GLOBAL comes before the one that the module's list of needed libraries reaches; versions of symbols;
/// names that auditwheel changed. Rejected: following the loader's rules, since which objects were opened RTLD_GLOBAL
/// is nowhere to be read.
const link_map* bound_cudart(const link_map* module) noexcept;

}  // namespace keepgraph::preload
