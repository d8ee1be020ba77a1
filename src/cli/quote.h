// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace keepgraph::cli {

/// One word for a POSIX shell; without quotes where none are needed.
std::string shell_word(const std::string& text);

/// A YAML scalar in double quotes for the value of a Kubernetes `env` entry, where $(NAME) would be replaced.
std::string k8s_value(const std::string& text);

}  // namespace keepgraph::cli
