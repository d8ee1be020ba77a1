// SPDX-License-Identifier: Apache-2.0
// `moves_stderr HOW FILE`: what programs do with descriptor 2, then one finding. FILE and what else got the number 2
// must hold the program's bytes and nothing else, unless the program made it its stderr.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstring>
#include <string>

#include "scene.h"

namespace {

constexpr char text[] = "DATA\n";

void write_data(int fd) {
    if (write(fd, text, sizeof text - 1) != static_cast<ssize_t>(sizeof text - 1))
        std::printf("nothing written\n");
}

/// What can be read of the other end without waiting.
std::string arrived(int fd) {
    fcntl(fd, F_SETFL, O_NONBLOCK);
    std::string all(65536, '\0');
    ssize_t size = read(fd, all.data(), all.size());
    all.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return all;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3)
        return 2;
    const std::string how = argv[1];
    const char* const path = argv[2];
    constexpr int create = O_CREAT | O_TRUNC;
    int other_end = -1;
    Scene scene;
    if (how == "open_before")  // CUDA is initialised later
        close(2);
    else
        scene.open_with_graph();
    const auto closed = [] { close(2); };
    if (how == "nothing") {
    } else if (how == "open_before") {
        write_data(open(path, O_RDWR | create, 0600));
        scene.open_with_graph();
    } else if (how == "open") {
        closed();
        write_data(open(path, O_WRONLY | create, 0600));
    } else if (how == "append_and_read") {
        closed();
        write_data(open(path, O_RDWR | O_APPEND | create, 0600));
    } else if (how == "append_cloexec") {
        closed();
        write_data(open(path, O_WRONLY | O_APPEND | O_CLOEXEC | create, 0600));
    } else if (how == "socketpair") {
        closed();
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
            return 3;
        write_data(ends[0]);
        other_end = ends[1];
    } else if (how == "pipe") {  // the write end gets 2
        close(1);
        closed();
        int ends[2];
        if (pipe(ends) != 0)
            return 3;
        write_data(ends[1]);
        other_end = ends[0];
    } else if (how == "dup2_append") {
        const int log = open(path, O_WRONLY | O_APPEND | create, 0600);
        dup2(log, 2);
        close(log);
    } else if (how == "freopen_append") {
        if (std::freopen(path, "a", stderr) == nullptr)
            return 3;
    } else if (how == "dup2_both") {  // as daemons do, with a file that is not opened to append
        const int log = open(path, O_WRONLY | create, 0600);
        dup2(log, 1);
        dup2(log, 2);
        close(log);
    } else if (how == "back") {
        const int kept = dup(2);
        const int data = open(path, O_RDWR | create, 0600);
        dup2(data, 2);
        write_data(2);
        dup2(kept, 2);
    }
    const CUresult freed = scene.cu.free(scene.input);
    const CUresult launched = scene.cu.launch(scene.exec, scene.stream);
    if (other_end >= 0) {
        // To where the test looks: descriptor 1 may be the pipe itself.
        const std::string got = arrived(other_end);
        const int file = open(path, O_WRONLY | create, 0600);
        if (write(file, got.data(), got.size()) != static_cast<ssize_t>(got.size()))
            return 4;
        close(file);
    }
    return freed == CUDA_SUCCESS && launched == CUDA_SUCCESS ? 0 : 1;
}
