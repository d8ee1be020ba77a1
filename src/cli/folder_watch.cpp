// SPDX-License-Identifier: Apache-2.0
#include "cli/folder_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <stdexcept>
#include <system_error>

namespace keepgraph::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* unused_prefix = ".keepgraph-unused-";

[[noreturn]] void fail(const fs::path& folder) {
    throw std::runtime_error("cannot watch the folder " + folder.native() + ": " +
                             std::generic_category().message(errno));
}

}  // namespace

FolderWatch::FolderWatch(const fs::path& folder) : fd_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)), folder_(folder) {
    constexpr std::uint32_t events =
        IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
    if (fd_ < 0) {
        fail(folder);
    }
    if (inotify_add_watch(fd_, folder.c_str(), events) < 0) {
        const int error = errno;
        close(fd_);
        errno = error;
        fail(folder);
    }
}

FolderWatch::~FolderWatch() {
    close(fd_);
}

std::vector<std::string> FolderWatch::losses() {
    std::set<std::string> gone;
    std::map<std::uint32_t, std::string> moved;
    std::vector<std::string> lines;
    const auto say_once = [&](const std::string& line) {
        if (lines.empty() || lines.back() != line) {
            lines.push_back(line);
        }
    };
    alignas(inotify_event) char buffer[1 << 14];
    while (true) {
        const ssize_t size = read(fd_, buffer, sizeof buffer);
        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size <= 0) {
            break;
        }
        for (const char* at = buffer; at < buffer + size;) {
            inotify_event event;
            std::memcpy(&event, at, sizeof event);
            const std::string name = event.len > 0 ? at + sizeof event : "";
            at += sizeof event + event.len;
            if ((event.mask & IN_Q_OVERFLOW) != 0) {
                say_once("too much happened in " + folder_.native() + " to be followed");
            } else if ((event.mask & (IN_DELETE_SELF | IN_MOVE_SELF)) != 0) {
                say_once(folder_.native() + " was removed or moved away while the program ran");
            } else if ((event.mask & IN_ISDIR) == 0) {
                continue;  // recordings are folders
            } else if ((event.mask & IN_DELETE) != 0 && name.rfind(unused_prefix, 0) != 0) {
                gone.insert(name);
            } else if ((event.mask & IN_MOVED_FROM) != 0) {
                moved[event.cookie] = name;
                gone.insert(name);
            } else if ((event.mask & IN_MOVED_TO) != 0 && name.rfind(unused_prefix, 0) == 0) {
                gone.erase(moved[event.cookie]);
            }
        }
    }
    for (const std::string& name : gone) {
        lines.push_back("the recording " + (folder_ / name).native() + " could not be made, or was removed");
    }
    return lines;
}

void remove_unused(const fs::path& folder) {
    std::error_code error;
    if (!fs::is_empty(folder, error) || error) {
        return;
    }
    const fs::path aside = folder.parent_path() / (unused_prefix + std::to_string(getpid()));
    fs::rename(folder, aside, error);
    if (!error && !fs::remove(aside, error)) {
        fs::rename(aside, folder, error);  // a process that still runs has just made its recording there
    }
}

}  // namespace keepgraph::cli
