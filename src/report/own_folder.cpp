// SPDX-License-Identifier: Apache-2.0
#include "report/own_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace keepgraph::report {
namespace {

constexpr mode_t folder_mode = 0777;  // less the umask
constexpr mode_t file_mode = 0666;
constexpr int last_suffix = 99;

/// Makes each missing parent. That one exists is fine, and so is another process that makes it at the same time.
int make_parents(const std::string& path, std::string& failed) {
    for (auto slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
        const std::string parent = path.substr(0, slash);
        if (::mkdir(parent.c_str(), folder_mode) == 0 || errno == EEXIST)
            continue;
        // A parent that exists may still answer something else than EEXIST (automounts, EROFS): look.
        const int reason = errno;
        struct stat at;
        if (::stat(parent.c_str(), &at) == 0)
            continue;
        failed = parent;
        return reason;
    }
    return 0;
}

}  // namespace

int OwnFolder::make(const std::string& wanted, std::string& failed) {
    std::string base = wanted;
    while (base.size() > 1 && base.back() == '/')
        base.pop_back();
    failed = base;
    if (base.empty() || base.front() != '/')
        return EINVAL;  // the program may change its working folder at any time
    for (int suffix = 0; suffix <= last_suffix; ++suffix) {
        const std::string path = suffix == 0 ? base : base + "-" + std::to_string(suffix);
        int made = ::mkdir(path.c_str(), folder_mode);
        if (made != 0 && errno == ENOENT) {
            if (const int reason = make_parents(path, failed); reason != 0)
                return reason;
            made = ::mkdir(path.c_str(), folder_mode);
        }
        if (made != 0 && errno == EEXIST)
            continue;
        if (made != 0)
            return errno;
        path_ = path;
        failed = path;
        int error = 0;
        const OwnFile opened(AT_FDCWD, path_.c_str(), O_PATH | O_DIRECTORY, 0, error);
        if (error != 0) {
            discard();
            return error;
        }
        identity_ = opened.identity();
        return 0;
    }
    return EEXIST;
}

OwnFile OwnFolder::open(int& error) const noexcept {
    OwnFile opened(AT_FDCWD, path_.c_str(), O_PATH | O_DIRECTORY, 0, error);
    if (error == 0 && opened.identity() != identity_) {
        error = ESTALE;
        return {};
    }
    return opened;
}

void OwnFolder::discard() noexcept {
    ::rmdir(path_.c_str());
}

int write_whole(const OwnFile& folder, const std::string& name, std::string_view text, log::HeldSignals& held) {
    const std::string temporary = "." + name + ".part";
    constexpr int flags = O_WRONLY | O_CREAT | O_EXCL;
    int error = 0;
    OwnFile file(folder.fd(), temporary.c_str(), flags, file_mode, error);
    if (error == EEXIST && ::unlinkat(folder.fd(), temporary.c_str(), 0) == 0) {
        error = 0;
        file = OwnFile(folder.fd(), temporary.c_str(), flags, file_mode, error);
    }
    if (error != 0)
        return error;
    error = file.append(text, held);
    if (error == 0)
        error = file.close();
    if (!folder.ours())
        return error != 0 ? error : EBADF;
    if (error == 0 && ::renameat(folder.fd(), temporary.c_str(), folder.fd(), name.c_str()) != 0)
        error = errno;
    if (error != 0)
        ::unlinkat(folder.fd(), temporary.c_str(), 0);
    return error;
}

}  // namespace keepgraph::report
