// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "report/record.h"

namespace keepgraph::report {

/// One line of a stack. A recorded return address gives several where functions were inlined.
struct SourceFrame {
    std::uint64_t address = 0;  ///< as recorded
    std::string module;         ///< path; empty when no module covers the address
    std::uint64_t offset = 0;   ///< address - base, good for addr2line
    std::string function;       ///< demangled; empty when no symbol was found
    std::string file;           ///< empty without debug information
    std::uint64_t line = 0;
    bool inlined = false;  ///< into the frame that follows it
    std::string trouble;   ///< why there are no names, when the file is not the one that ran
};

/// Works out function, file and line of recorded addresses from the files on this machine. A file whose build-id is not
/// the recorded one gives no names: wrong names are worse than none. Not thread safe; what was read of a file stays.
class Symbolizer {
  public:
    Symbolizer();
    ~Symbolizer();

    /// `address` is a return address: the look-up is made one byte before it, since a call at the very end of a
    /// function returns to the first byte of the next one. Never empty; innermost inlined function first.
    std::vector<SourceFrame> resolve(const RecordedModule* module, std::uint64_t address);

    /// A whole stack of a recording, innermost first.
    std::vector<SourceFrame> resolve(const Recording& recording, const RecordedStack& stack);

  private:
    struct File;
    const File& file(const std::string& path);
    std::map<std::string, std::unique_ptr<File>> files_;
};

}  // namespace keepgraph::report
