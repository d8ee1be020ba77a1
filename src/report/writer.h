// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/json.h"
#include "report/own_file.h"
#include "report/own_folder.h"

namespace keepgraph::report {

/// Writes the recording of this process (README.md). Any thread; errno, cancellation, the signal mask, umask and
/// working folder stay as they are; nothing is thrown. What cannot be written is counted, said once on stderr, and the
/// program goes on. A forked child writes nothing: the recording is its parent's.
///
/// Leak it: threads may still report while the process ends.
class Writer {
  public:
    using Clock = std::chrono::steady_clock;

    struct Event {
        /// Whose event it is and when it was, where that is not the thread that writes it and the moment of writing.
        struct Origin {
            Clock::time_point time;
            long thread;
        };
        const char* type;
        Json body;  // an object, or null for no further keys; `type`, `t` and `thread` in it are left out
        std::optional<Origin> origin = {};
    };

    struct Losses {
        std::uint64_t events = 0;         // not written, for whatever reason
        std::uint64_t files = 0;          // the same
        std::uint64_t deleted_files = 0;  // graph files that were written and had to make room
    };

    /// Makes the folder with manifest.json and an empty events.jsonl. Null: nothing is left there, and `problem` names
    /// the folder, the reason and what would help. `max_bytes` limits events and graph files together.
    static std::unique_ptr<Writer> make(const std::string& folder, std::uint64_t max_bytes, const Json& manifest,
                                        std::string& problem, Clock::time_point session_start = Clock::now()) noexcept;

    /// The one that was made, which is not always the one that was asked for (OwnFolder::make).
    const std::string& folder() const noexcept { return folder_.path(); }

    /// A point in time as the recording gives it: seconds since the session began.
    double seconds(Clock::time_point at) const noexcept;

    /// One complete line with `type`, `t` and `thread` in front, one write(2). False: it is not in the file.
    bool event(const char* type, Json body) noexcept;
    bool event(Event event) noexcept;
    /// Lines that belong together, in one write(2): all that have no origin with the same `t`, none of another thread's
    /// between them.
    /// False: at least one is not in the file. Only the limit splits them, by type; a failed write loses them all.
    bool events(std::vector<Event> together) noexcept;

    /// Writes a file of the folder whole or not at all, in the place of an older one. False: the older one is as it
    /// was.
    bool file(const std::string& name, std::string_view text) noexcept;

    Losses losses() const noexcept;

  private:
    struct Line {
        bool exempt;                            // from the limit
        std::string head;                       // {"type":"x","t":
        std::optional<Clock::time_point> time;  // that of the write where there is none
        std::string tail;                       // ,"thread":1,...}
    };
    struct GraphFile {
        std::string name;
        std::uint64_t size;
    };
    struct Result {
        int error = 0;
        std::size_t dropped = 0;  // left out because of the limit
    };

    Writer(OwnFolder folder, std::uint64_t max_bytes, Clock::time_point session_start);
    static Line to_line(Event&& event);
    Line notice(const std::string& text) const;
    int make_files(const Json& manifest) noexcept;
    // With mutex_ held:
    bool make_room(std::uint64_t bytes, std::string_view keep);
    void write_lines(const std::vector<Line>& lines, log::HeldSignals& held, Result& result);
    int append(std::string_view text, log::HeldSignals& held) noexcept;
    int write_file(const std::string& name, std::string_view text, log::HeldSignals& held, Result& result);
    // Without it:
    void say(const char* what, const std::string& name, int error) noexcept;

    const pid_t owner_;
    const Clock::time_point start_;
    const std::uint64_t max_bytes_;
    OwnFolder folder_;

    std::mutex mutex_;
    OwnFile events_;
    std::uint64_t event_bytes_ = 0;
    std::uint64_t graph_bytes_ = 0;
    std::deque<GraphFile> graph_files_;  // oldest first
    std::vector<Line> notices_;          // go in front of the next line
    bool events_left_out_ = false;
    bool files_left_out_ = false;

    std::atomic<std::uint64_t> lost_events_{0};
    std::atomic<std::uint64_t> lost_files_{0};
    std::atomic<std::uint64_t> deleted_files_{0};
    std::atomic<bool> said_events_{false};
    std::atomic<bool> said_files_{false};
};

}  // namespace keepgraph::report
