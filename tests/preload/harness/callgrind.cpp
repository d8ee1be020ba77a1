// SPDX-License-Identifier: Apache-2.0
#include "callgrind.h"

#include <cstdlib>
#include <map>
#include <stdexcept>

namespace keepgraph::preload_tests {
namespace {

/// Callgrind writes a name in full once, `(7) name`, and `(7)` from then on.
class Names {
  public:
    std::string name(const std::string& text) {
        const size_t end = text.find(')');
        if (text.empty() || text[0] != '(' || end == std::string::npos)
            throw std::runtime_error("callgrind's file has a name without a number: " + text);
        const std::string number = text.substr(0, end + 1);
        if (end + 2 < text.size())
            names_[number] = text.substr(end + 2);
        return names_.at(number);
    }

  private:
    std::map<std::string, std::string> names_;
};

bool begins(const std::string& line, const std::string& word) {
    return line.compare(0, word.size(), word) == 0;
}

std::string file_name(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

void parse(const std::string& text, Profile& result) {
    Names objects, functions;
    Call call;
    bool complete = false;
    for (const std::string& line : split_lines(text)) {
        const std::string value = line.substr(line.find('=') + 1);
        if (begins(line, "ob=")) {
            call.caller_object = file_name(objects.name(value));
        } else if (begins(line, "fn=")) {
            call.caller = functions.name(value);
        } else if (begins(line, "cob=")) {
            call.callee_object = file_name(objects.name(value));
        } else if (begins(line, "cfn=")) {
            call.callee = functions.name(value);
        } else if (begins(line, "calls=")) {
            call.count = std::atol(value.c_str());
            result.calls.push_back(call);
            if (call.callee_object.empty())  // not said again when it is the caller's
                result.calls.back().callee_object = call.caller_object;
            call.callee_object.clear();
        } else if (begins(line, "totals: ")) {
            result.instructions = std::atol(line.c_str() + 8);
            complete = true;
        }
    }
    if (!complete)
        throw std::runtime_error("callgrind's file is cut");
}

}  // namespace

Profile profile(const std::vector<std::string>& args, const Conditions& setup, const std::string& only_in) {
    const TempFolder folder;
    std::vector<std::string> words = {"valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=" + (folder / "out")};
    if (!only_in.empty())
        words.push_back("--toggle-collect=" + only_in);
    words.insert(words.end(), args.begin(), args.end());
    Profile result;
    result.outcome = run_on_double(words, setup);
    parse(read_file(folder / "out"), result);
    return result;
}

}  // namespace keepgraph::preload_tests
