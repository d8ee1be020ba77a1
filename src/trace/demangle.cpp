// SPDX-License-Identifier: Apache-2.0
#include "trace/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

#include "trace/stack_room.h"

namespace keepgraph::trace {
namespace {

// libstdc++'s demangler takes about 95 bytes of stack for each character (measured: 100 KB for a name of 1018), and is
// silent for longer names than this; one without that limit is not tried with them.
constexpr std::size_t longest = 1280;
constexpr std::size_t room_for(std::size_t characters) {
    return (std::size_t{16} << 10) + 110 * characters;
}

using Text = std::unique_ptr<char, decltype(&std::free)>;

struct Call {
    const char* name;
    Text text{nullptr, &std::free};
};

void demangle(void* context) {
    auto& call = *static_cast<Call*>(context);
    int status = 0;
    call.text.reset(abi::__cxa_demangle(call.name, nullptr, nullptr, &status));
}

}  // namespace

std::string demangled(const std::string& name) {
    if (name.rfind("_Z", 0) != 0 || name.size() > longest)
        return name;
    Call call{name.c_str()};
    (void)run_with_room(demangle, &call, room_for(name.size()));
    return call.text != nullptr ? std::string(call.text.get()) : name;
}

}  // namespace keepgraph::trace
