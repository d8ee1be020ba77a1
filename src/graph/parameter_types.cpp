// SPDX-License-Identifier: Apache-2.0
#include "graph/parameter_types.h"

#include <string_view>

#include "trace/demangle.h"

namespace keepgraph::graph {
namespace {

/// Where the parameter list at the end of `name` begins: behind its bracket. npos when `name` does not end in one.
std::size_t start_of_list(std::string_view name) {
    if (name.empty() || name.back() != ')')
        return std::string_view::npos;
    int depth = 0;
    for (std::size_t at = name.size(); at-- > 0;) {
        depth += name[at] == ')' ? 1 : name[at] == '(' ? -1 : 0;
        if (depth == 0)
            return at + 1;
    }
    return std::string_view::npos;
}

}  // namespace

std::vector<std::string> parameter_types(const std::string& mangled, std::size_t count) {
    const std::string name = trace::demangled(mangled);
    const std::size_t start = name == mangled ? std::string::npos : start_of_list(name);
    if (start == std::string::npos)
        return {};
    std::vector<std::string> types(1);
    int depth = 0;
    for (const char letter : std::string_view(name).substr(start, name.size() - 1 - start)) {
        depth += letter == '(' || letter == '<' || letter == '[' || letter == '{' ? 1 : 0;
        depth -= letter == ')' || letter == '>' || letter == ']' || letter == '}' ? 1 : 0;
        if (letter == ',' && depth == 0)
            types.emplace_back();
        else if (letter != ' ' || !types.back().empty())
            types.back() += letter;
    }
    // A comparison among template arguments, `(4 > 2)`, upsets the depth: the number of types shows that.
    if (types.size() != count)
        return {};
    return types;
}

}  // namespace keepgraph::graph
