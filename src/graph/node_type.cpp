// SPDX-License-Identifier: Apache-2.0
#include "graph/node_type.h"

namespace keepgraph::graph {

std::string node_type_name(CUgraphNodeType type) {
    static constexpr const char* names[] = {"kernel",           "memcpy",         "memset",     "host",
                                            "child_graph",      "empty",          "wait_event", "event_record",
                                            "ext_semas_signal", "ext_semas_wait", "mem_alloc",  "mem_free",
                                            "batch_mem_op",     "conditional"};
    const auto number = static_cast<unsigned>(type);
    return number < std::size(names) ? names[number] : "unknown (" + std::to_string(number) + ")";
}

}  // namespace keepgraph::graph
