// SPDX-License-Identifier: Apache-2.0
#include "liveness/partial_arrays.h"

namespace keepgraph::liveness {
namespace {

// Parts of mangled names. Each line: who does it, and how it was seen.
constexpr const char* known[] = {
    "multi_tensor_apply_kernel",  // torch._foreach_*, optimizers: 4 KB TensorListMetadata, only the first n slots set
    "CatArrayBatchedCopy",        // torch.cat of many tensors: a batch of up to 128 inputs, the last one not full
};

std::vector<std::string>& added() {
    static auto* const list = new std::vector<std::string>;  // leaked: read until the process ends
    return *list;
}

}  // namespace

bool passes_partial_arrays(const std::string& mangled) {
    for (const char* part : known)
        if (mangled.find(part) != std::string::npos)
            return true;
    for (const std::string& part : added())
        if (mangled.find(part) != std::string::npos)
            return true;
    return false;
}

void add_partial_arrays(const std::vector<std::string>& name_parts) {
    added().insert(added().end(), name_parts.begin(), name_parts.end());
}

}  // namespace keepgraph::liveness
