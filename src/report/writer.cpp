// SPDX-License-Identifier: Apache-2.0
#include "report/writer.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iterator>

#include "log/log.h"
#include "trace/describe.h"
#include "trace/quiet_scope.h"

namespace keepgraph::report {
namespace {

using log::HeldSignals;

constexpr const char* events_name = "events.jsonl";
constexpr int events_flags = O_WRONLY | O_APPEND;

/// What a reader needs for the findings is written whatever the limit says: without them the recording is worth
/// nothing, and they are few.
bool is_exempt(std::string_view type) noexcept {
    for (const std::string_view exempt : {"finding", "death", "birth", "stack", "module", "summary"})
        if (type == exempt)
            return true;
    return false;
}

bool is_graph_file(std::string_view name) noexcept {
    return name.starts_with("graph-");
}

/// Not strerror(), which translates by the program's locale and opens message catalogues for it.
std::string reason(int error) {
    const char* const text = ::strerrordesc_np(error);
    return text != nullptr ? text : "error " + std::to_string(error);
}

const char* help_for(int error) noexcept {
    switch (error) {
        case EACCES:
        case EPERM:
        case EROFS:
            return "set KEEPGRAPH_OUT to a folder that this user may write to";
        case ENOSPC:
        case EDQUOT:
            return "make room there or set KEEPGRAPH_OUT to another disk";
        case EMFILE:
        case ENFILE:
            return "raise the limit of open files (ulimit -n)";
        case EFBIG:
            return "raise the limit of the file size (ulimit -f)";
        case ENOTDIR:
            return "a part of this path is a file; set KEEPGRAPH_OUT to another folder";
        case EEXIST:
            return "it exists, and so do all its names with -1 to -99; use %p (process) or %t (time) in OUT";
        case EINVAL:
            return "set KEEPGRAPH_OUT to a folder with an absolute path";
        default:
            return "set KEEPGRAPH_OUT to another folder";
    }
}

}  // namespace

Writer::Writer(OwnFolder folder, std::uint64_t max_bytes, Clock::time_point session_start)
    : owner_(::getpid()), start_(session_start), max_bytes_(max_bytes), folder_(std::move(folder)) {}

std::unique_ptr<Writer> Writer::make(const std::string& wanted, std::uint64_t max_bytes, const Json& manifest,
                                     std::string& problem, Clock::time_point session_start) noexcept {
    const trace::QuietScope quiet;
    const HeldSignals held(HeldSignals::Which::all);
    try {
        OwnFolder folder;
        std::string failed;
        int error = folder.make(wanted, failed);
        if (error == 0) {
            std::unique_ptr<Writer> writer(new Writer(std::move(folder), max_bytes, session_start));
            error = writer->make_files(manifest);
            if (error == 0)
                return writer;
            failed = writer->folder();
        }
        problem = "cannot make the recording " + failed + ": " + reason(error) + "; " + help_for(error);
    } catch (...) {
        try {
            problem = "no memory for the recording";
        } catch (...) {  // it stays empty
        }
    }
    return nullptr;
}

/// The manifest first: a folder with events has one. What was made goes again when a part of it cannot be made.
int Writer::make_files(const Json& manifest) noexcept {
    int error = 0;
    OwnFile folder = folder_.open(error);
    if (error == 0) {
        try {
            HeldSignals held(HeldSignals::Which::all);
            error = write_whole(folder, "manifest.json", manifest.dump(1) + "\n", held);
            if (error == 0)
                events_ = OwnFile(folder.fd(), events_name, events_flags | O_CREAT | O_EXCL, 0666, error);
        } catch (...) {
            error = ENOMEM;
        }
        if (error != 0)
            ::unlinkat(folder.fd(), "manifest.json", 0);
    }
    if (error != 0)
        folder_.discard();
    return error;
}

double Writer::seconds(Clock::time_point at) const noexcept {
    return static_cast<double>(std::chrono::duration_cast<std::chrono::microseconds>(at - start_).count()) / 1e6;
}

/// Everything but the time, which is usually known under the lock only: making the text there would make threads wait
/// for it.
Writer::Line Writer::to_line(Event&& event) {
    Json object = event.body.is_object() ? std::move(event.body) : Json::object();
    for (const char* key : {"type", "t", "thread"})
        object.erase(key);
    std::string rest = object.dump();
    rest.front() = object.empty() ? ' ' : ',';
    if (object.empty())
        rest.erase(0, 1);
    Line line{is_exempt(event.type), "{\"type\":" + Json(event.type).dump() + ",\"t\":", {}, ",\"thread\":"};
    if (event.origin)
        line.time = event.origin->time;
    line.tail += std::to_string(event.origin ? event.origin->thread : trace::thread_id()) + rest + "\n";
    return line;
}

bool Writer::event(const char* type, Json body) noexcept {
    return event({type, std::move(body)});
}

bool Writer::event(Event event) noexcept {
    try {
        std::vector<Event> one;
        one.push_back(std::move(event));
        return events(std::move(one));
    } catch (...) {
        lost_events_.fetch_add(1, std::memory_order_relaxed);
        return false;
    }
}

bool Writer::events(std::vector<Event> together) noexcept {
    if (::getpid() != owner_)
        return false;
    const trace::QuietScope quiet;
    Result result;
    try {
        std::vector<Line> lines;
        lines.reserve(together.size());
        for (Event& event : together)
            lines.push_back(to_line(std::move(event)));
        HeldSignals held(HeldSignals::Which::all);
        const std::lock_guard lock(mutex_);
        write_lines(lines, held, result);
    } catch (...) {
        result.error = ENOMEM;
    }
    if (result.error != 0)
        say("events", events_name, result.error);
    const std::size_t lost = result.error != 0 ? together.size() : result.dropped;
    lost_events_.fetch_add(lost, std::memory_order_relaxed);
    return lost == 0;
}

void Writer::write_lines(const std::vector<Line>& lines, HeldSignals& held, Result& result) {
    constexpr std::size_t time_size = 24;
    std::uint64_t size = 0;
    for (const Line& line : lines)
        size += line.head.size() + time_size + line.tail.size();
    const bool room = make_room(size, {});
    const bool leaves_out = !room && std::any_of(lines.begin(), lines.end(), [](auto& line) { return !line.exempt; });
    if (leaves_out && !events_left_out_) {
        notices_.push_back(
            notice("events that do not fit are left out, other than finding, death, birth, stack, module "
                   "and summary"));
        events_left_out_ = true;
    }
    const auto now = Clock::now();
    std::string text;
    const auto add = [&](const Line& line) {
        const auto t = std::chrono::duration_cast<std::chrono::microseconds>(line.time.value_or(now) - start_).count();
        char time[time_size];
        std::snprintf(time, sizeof time, "%lld.%06lld", static_cast<long long>(t / 1000000),
                      static_cast<long long>(t % 1000000));
        text.append(line.head).append(time).append(line.tail);
    };
    for (const Line& notice : notices_)
        add(notice);
    for (const Line& line : lines) {
        if (room || line.exempt)
            add(line);
        else
            ++result.dropped;
    }
    if (text.empty())
        return;
    result.error = append(text, held);
    if (result.error != 0)
        return;
    event_bytes_ += text.size();
    notices_.clear();
}

int Writer::append(std::string_view text, HeldSignals& held) noexcept {
    if (!events_.ours()) {
        int error = 0;
        const OwnFile folder = folder_.open(error);
        if (error == 0)
            error = events_.reopen(folder.fd(), events_name, events_flags);
        if (error != 0)
            return error;
    }
    return events_.append(text, held);
}

/// Deletes graph files, oldest first, until `bytes` more fit, and says whether they do. For a file, whose name is
/// `keep`: never its own older version, and nothing when even that would not make it fit.
bool Writer::make_room(std::uint64_t bytes, std::string_view keep) {
    const auto fits = [&] { return event_bytes_ + graph_bytes_ + bytes <= max_bytes_; };
    if (fits())
        return true;
    std::uint64_t kept = 0;
    for (const GraphFile& file : graph_files_)
        kept += file.name == keep ? file.size : 0;
    if (!keep.empty() && event_bytes_ + kept + bytes > max_bytes_)
        return false;
    int error = 0;
    const OwnFile folder = folder_.open(error);
    std::string deleted;
    for (auto file = graph_files_.begin(); !fits() && file != graph_files_.end() && folder.ours();) {
        if (file->name == keep || (::unlinkat(folder.fd(), file->name.c_str(), 0) != 0 && errno != ENOENT)) {
            ++file;
            continue;
        }
        deleted += (deleted.empty() ? "" : ", ") + file->name;
        graph_bytes_ -= file->size;
        file = graph_files_.erase(file);
        deleted_files_.fetch_add(1, std::memory_order_relaxed);
    }
    if (!deleted.empty())
        notices_.push_back(notice("deleted " + deleted));
    return fits();
}

Writer::Line Writer::notice(const std::string& text) const {
    return to_line({"notice", {{"text", "out_max of " + std::to_string(max_bytes_) + " bytes is reached: " + text}}});
}

bool Writer::file(const std::string& name, std::string_view text) noexcept {
    if (::getpid() != owner_)
        return false;
    const trace::QuietScope quiet;
    Result result;
    try {
        if (name.empty() || name.front() == '.' || name.find('/') != std::string::npos || name == events_name) {
            result.error = EINVAL;
        } else {
            HeldSignals held(HeldSignals::Which::all);
            const std::lock_guard lock(mutex_);
            result.error = write_file(name, text, held, result);
            Result notice;
            if (!notices_.empty())
                write_lines({}, held, notice);  // what failed waits for the next line
        }
    } catch (...) {
        result.error = ENOMEM;
    }
    if (result.error != 0)
        say("files", name, result.error);
    if (result.error == 0 && result.dropped == 0)
        return true;
    lost_files_.fetch_add(1, std::memory_order_relaxed);
    return false;
}

int Writer::write_file(const std::string& name, std::string_view text, HeldSignals& held, Result& result) {
    const bool counted = is_graph_file(name);
    // An older one of the same name is as good as gone when room is made, and as old as it was when the write fails.
    const auto old = std::find_if(graph_files_.begin(), graph_files_.end(), [&](auto& f) { return f.name == name; });
    const std::uint64_t old_size = old != graph_files_.end() ? old->size : 0;
    const std::uint64_t more = text.size() > old_size ? text.size() - old_size : 0;
    if (counted && !make_room(more, name)) {
        ++result.dropped;
        if (!files_left_out_)
            notices_.push_back(notice(name + " is left out, and so is every later graph file that does not fit"));
        files_left_out_ = true;
        return 0;
    }
    if (counted)
        graph_files_.push_back({name, text.size()});  // before the write: afterwards nothing may fail
    int error = 0;
    const OwnFile folder = folder_.open(error);
    if (error == 0)
        error = write_whole(folder, name, text, held);
    if (!counted)
        return error;
    if (error != 0) {
        graph_files_.pop_back();
        return error;
    }
    graph_bytes_ += text.size() - old_size;
    const auto replaced =
        std::find_if(graph_files_.begin(), graph_files_.end(), [&](auto& f) { return f.name == name; });
    if (std::next(replaced) != graph_files_.end())
        graph_files_.erase(replaced);
    return 0;
}

Writer::Losses Writer::losses() const noexcept {
    return {lost_events_.load(std::memory_order_relaxed), lost_files_.load(std::memory_order_relaxed),
            deleted_files_.load(std::memory_order_relaxed)};
}

/// Once for events and once for files. Without the lock and with the program's signals: stderr may block.
void Writer::say(const char* what, const std::string& name, int error) noexcept {
    std::atomic<bool>& said = what[0] == 'e' ? said_events_ : said_files_;
    if (said.load(std::memory_order_relaxed))
        return;
    try {
        log::once(said, "the recording " + folder() + " is not whole, some " + what + " are lost: " + name + ": " +
                            reason(error));
    } catch (...) {  // no memory to say so: losses() counts it
    }
}

}  // namespace keepgraph::report
