// SPDX-License-Identifier: Apache-2.0
// libFuzzer harness of the reader: the input becomes the files of a recording, which is read and drawn. Needs clang.
// The first byte says which file the rest is; the others keep the hand-written recording's content.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "report/dot.h"
#include "report/reader.h"
#include "report/text.h"

namespace {

using namespace keepgraph::report;

constexpr const char* names[] = {"manifest.json", "events.jsonl", "graph-1.json"};

void write_file(const std::string& path, const char* data, std::size_t size) {
    std::ofstream(path, std::ios::binary | std::ios::trunc).write(data, static_cast<std::streamsize>(size));
}

/// In memory where there is such a folder; one per process, so that jobs side by side do not meet.
const std::string& folder() {
    static const std::string& path = *new std::string([] {  // never destroyed: the exit handler needs it
        std::string name =
            access("/dev/shm", W_OK) == 0 ? "/dev/shm/keepgraph-fuzz-XXXXXX" : "/tmp/keepgraph-fuzz-XXXXXX";
        if (mkdtemp(name.data()) == nullptr)
            std::abort();
        std::atexit([] {
            for (const char* file : names)
                unlink((folder() + "/" + file).c_str());
            rmdir(folder().c_str());
        });
        return name;
    }());
    return path;
}

void require(bool condition) {
    if (!condition)
        std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0)
        return 0;
    const std::size_t chosen = data[0] % std::size(names);
    for (std::size_t i = 0; i < std::size(names); ++i) {
        const std::string path = folder() + "/" + names[i];
        if (i == chosen)
            write_file(path, reinterpret_cast<const char*>(data) + 1, size - 1);
        else
            write_file(path, "{\"schema\": 1}\n", 14);
    }
    try {
        const Recording recording = read_recording(folder());
        require(recording.problems.size() <= 20);
        for (const auto& [id, stack] : recording.stacks) {
            for (const std::uint64_t address : stack.frames) {
                const RecordedModule* module = recording.module_of(address, stack.line);
                require(module == nullptr || (module->base <= address && address < module->end));
            }
        }
        const std::string dot = to_dot(read_graph(folder(), 1), recording.findings);
        require(is_utf8(dot) && dot.find('\033') == std::string::npos);
    } catch (const ReadError&) {
        // the one way to refuse
    }
    const std::string text(reinterpret_cast<const char*>(data), size);
    require(is_utf8(printable(text)) && is_utf8(repair_utf8(text)));
    require(columns(cut_middle(printable(text), 20)) <= 20);
    short_name(text);
    return 0;
}
