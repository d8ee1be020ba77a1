// SPDX-License-Identifier: Apache-2.0
//
// What look-ups handed out, for `keepgraph doctor --coverage`.
#include <map>

#include "session/session.h"
#include "session/state.h"

namespace keepgraph::session {
namespace {

// Look-ups come before the settings are read, and from programs that never initialise CUDA: nothing is kept of those
// that ask for no driver function, and the rest is bounded by the number of names that the driver has.
struct Names {
    std::mutex mutex;
    std::map<std::string, bool> wrapped;
};
Names& names() {
    static auto* const instance = new Names;  // leaked: look-ups go on while the process ends
    return *instance;
}
constexpr std::size_t most_names = 4096;

}  // namespace

void looked_up(const char* name, bool wrapped) noexcept {
    try {
        const std::lock_guard lock(names().mutex);
        if (names().wrapped.size() < most_names)
            names().wrapped[name] |= wrapped;
    } catch (...) {  // no memory: the list is a little shorter
    }
}

void record_coverage(Session& session) {
    report::Json lists[2] = {report::Json::array(), report::Json::array()};
    const std::lock_guard lock(names().mutex);
    for (const auto& [name, wrapped] : names().wrapped)
        lists[wrapped ? 0 : 1].push_back(name);
    session.recording.event("coverage", {{"wrapped", lists[0]}, {"unwrapped", lists[1]}});
}

}  // namespace keepgraph::session
