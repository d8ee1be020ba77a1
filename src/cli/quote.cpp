// SPDX-License-Identifier: Apache-2.0
#include "cli/quote.h"

#include <nlohmann/json.hpp>
#include <string_view>

namespace keepgraph::cli {

std::string shell_word(const std::string& text) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_";
    if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) {
        return text;
    }
    std::string quoted = "'";
    for (const char c : text) {
        quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    return quoted + "'";
}

std::string k8s_value(const std::string& text) {
    std::string kept;
    for (const char c : text) {
        kept += c == '$' ? std::string("$$") : std::string(1, c);  // $$ is how Kubernetes writes a dollar sign
    }
    // A JSON string is a YAML string. Bytes that are no UTF-8 cannot be in either.
    return nlohmann::json(kept).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace keepgraph::cli
