// SPDX-License-Identifier: Apache-2.0
#include "session/recording.h"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <ctime>

#include "config/out_pattern.h"
#include "config/version.h"
#include "driver/api.h"
#include "log/log.h"
#include "session/describe.h"
#include "trace/describe.h"
#include "trace/elf_symbols.h"

namespace keepgraph::session {
namespace {

report::Json to_json(const trace::Module& module) {
    return {{"path", module.path}, {"base", hex(module.base)}, {"end", hex(module.end)}, {"build_id", module.build_id}};
}

// The arguments that this process was started with. Read once, when the folder is made: a host may rewrite its argv.
report::Json command_line() {
    report::Json words = report::Json::array();
    if (FILE* const file = std::fopen("/proc/self/cmdline", "re")) {
        std::string text;
        char buffer[4096];
        for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, file)) > 0;)
            text.append(buffer, got);
        std::fclose(file);
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = std::min(text.find('\0', at), text.size());
            words.push_back(text.substr(at, end - at));
            at = end + 1;
        }
    }
    return words;
}

}  // namespace

void Recording::configure(const config::Settings& settings, std::chrono::steady_clock::time_point began) {
    settings_ = settings;
    began_ = began;
    if (settings.out.empty())
        return;
    path_ = config::expand_out(settings.out, config::out_context());
    if (path_.front() != '/') {
        char here[PATH_MAX];
        if (getcwd(here, sizeof here) == nullptr) {
            log::line("KEEPGRAPH_OUT=" + settings.out +
                      " is relative, and the working directory cannot be named: findings are on stderr only");
            return;
        }
        path_ = std::string(here) + "/" + path_;
    }
    wanted_.store(true, std::memory_order_relaxed);
}

report::Json Recording::manifest() {
    char host[256] = "";
    (void)gethostname(host, sizeof host - 1);
    const auto since = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - began_);
    const std::time_t start = std::time(nullptr) - since.count();  // of the session, which is when t is 0
    std::tm utc{};
    gmtime_r(&start, &utc);
    char started[32];
    std::strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", &utc);
    report::Json driver = report::Json::object();
    int version = 0;
    if (driver::api().cuDriverGetVersion != nullptr && driver::api().cuDriverGetVersion(&version) == CUDA_SUCCESS)
        driver["version"] = version;
    trace::NearestSymbol symbol;
    if (trace::nearest_symbol(reinterpret_cast<std::uintptr_t>(driver::api().cuDriverGetVersion), symbol))
        driver["path"] = symbol.module;
    report::Json settings = report::Json::object();
    for (const config::Row& row : config::settings_table())
        settings[row.name] = row.print(settings_);
    report::Json modules = report::Json::array();
    for (const trace::Module& module : modules_.refresh())
        modules.push_back(to_json(module));
    return {{"schema", 1},       {"keepgraph", config::version}, {"pid", getpid()},  {"started", started},
            {"host", host},      {"command", command_line()},    {"driver", driver}, {"settings", settings},
            {"modules", modules}};
}

void Recording::open() noexcept {
    if (!wanted())
        return;
    try {
        const std::lock_guard lock(mutex_);
        if (opened_)
            return;
        opened_ = true;
        std::string problem;
        writer_ = report::Writer::make(path_, settings_.out_max, manifest(), problem, began_).release();
        if (writer_ == nullptr) {
            wanted_.store(false, std::memory_order_relaxed);
            log::line(problem + ": findings are on stderr only");
        } else {
            for (report::Writer::Event& event : pending_)
                writer_->event(std::move(event));
        }
        std::vector<report::Writer::Event>().swap(pending_);
    } catch (...) {
        wanted_.store(false, std::memory_order_relaxed);
        log::line("out of memory while the recording was opened: findings are on stderr only");
    }
}

void Recording::event(const char* type, report::Json keys) noexcept {
    if (!wanted())
        return;
    try {
        const std::lock_guard lock(mutex_);
        if (writer_ != nullptr) {
            writer_->event(type, std::move(keys));
        } else if (!opened_ && pending_.size() < most_pending) {
            using Origin = report::Writer::Event::Origin;  // whoever opens the folder writes it, and later
            pending_.push_back({type, std::move(keys), Origin{std::chrono::steady_clock::now(), trace::thread_id()}});
        }
    } catch (...) {  // no memory: the event is lost
    }
}

void Recording::stack(std::uint32_t id, const trace::NativeStack& native, const trace::PythonStack& python) noexcept {
    if (!wanted())
        return;
    try {
        // Before the folder is made the manifest will list them.
        bool open = false;
        {
            const std::lock_guard lock(mutex_);
            open = writer_ != nullptr;
        }
        if (open)
            for (const trace::Module& module : modules_.refresh())
                event("module", to_json(module));
        report::Json frames = report::Json::array();
        for (std::uint32_t i = 0; i < native.count; ++i)
            frames.push_back(hex(native.frames[i]));
        report::Json keys{{"id", id}, {"frames", frames}};
        if (!python.frames.empty()) {
            report::Json lines = report::Json::array();
            for (const trace::PythonFrame& frame : python.frames)
                lines.push_back({{"file", frame.file}, {"line", frame.line}, {"function", frame.function}});
            keys["python"] = lines;
        }
        if (!python.unavailable.empty())
            keys["python_unavailable"] = python.unavailable;
        event("stack", std::move(keys));
    } catch (...) {  // no memory: the stack is lost
    }
}

bool Recording::file(const std::string& name, const std::string& text) noexcept {
    const std::lock_guard lock(mutex_);
    return writer_ != nullptr && writer_->file(name, text);
}

std::string Recording::folder() const {
    const std::lock_guard lock(mutex_);
    return writer_ != nullptr ? writer_->folder() : std::string();
}

}  // namespace keepgraph::session
