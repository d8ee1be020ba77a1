// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "config/settings.h"
#include "report/writer.h"
#include "trace/module_map.h"
#include "trace/native_stack.h"
#include "trace/python_stack.h"

namespace keepgraph::session {

/// The recording of this process (OUT), or nothing at all. Events that come before the first graph wait for the folder.
/// Any thread; has a lock of its own, and may be called under the session's.
class Recording {
  public:
    /// Fixes the folder: patterns, and a relative one against today's working directory, whatever the program does
    /// later. Makes nothing.
    void configure(const config::Settings& settings, std::chrono::steady_clock::time_point began);

    /// False: no OUT, or its folder could not be made. Events are dropped then.
    bool wanted() const noexcept { return wanted_.load(std::memory_order_relaxed); }

    /// Makes the folder, once. When that fails, one warning says so and wanted() turns false.
    void open() noexcept;

    /// Of the calling thread, now, also when it has to wait for the folder.
    void event(const char* type, report::Json keys) noexcept;
    /// Modules loaded since, then the stack. Not under the session's lock: it asks the loader.
    void stack(std::uint32_t id, const trace::NativeStack& native, const trace::PythonStack& python) noexcept;
    bool file(const std::string& name, const std::string& text) noexcept;

    /// "" until the folder is made.
    std::string folder() const;

  private:
    static constexpr std::size_t most_pending = 10000;  // a program that captures for ever and instantiates nothing

    report::Json manifest();

    std::atomic<bool> wanted_{false};
    std::string path_;
    config::Settings settings_;
    std::chrono::steady_clock::time_point began_;
    trace::ModuleMap modules_;
    mutable std::mutex mutex_;
    bool opened_ = false;
    report::Writer* writer_ = nullptr;  // leaked: threads may still write while the process ends
    std::vector<report::Writer::Event> pending_;
};

}  // namespace keepgraph::session
