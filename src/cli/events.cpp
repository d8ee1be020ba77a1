// SPDX-License-Identifier: Apache-2.0
#include "cli/events.h"

#include <fstream>
#include <string>

namespace keepgraph::cli {

std::size_t for_each_event(const std::filesystem::path& folder, std::string_view type,
                           const std::function<void(const nlohmann::json&)>& each) {
    namespace fs = std::filesystem;
    std::size_t recordings = 0;
    std::error_code error;
    const auto options = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator it(folder, options, error), end; !error && it != end; it.increment(error)) {
        if (it->path().filename() != "events.jsonl") {
            continue;
        }
        ++recordings;
        std::ifstream file(it->path());
        // eof() with a line in hand: the line has no end.
        for (std::string line; std::getline(file, line) && !file.eof();) {
            if (line.find(type) == std::string::npos) {
                continue;  // most lines: not worth parsing
            }
            const nlohmann::json event = nlohmann::json::parse(line, nullptr, false);
            if (event.is_object() && event.value("type", nlohmann::json()) == type) {
                each(event);
            }
        }
    }
    return recordings;
}

}  // namespace keepgraph::cli
