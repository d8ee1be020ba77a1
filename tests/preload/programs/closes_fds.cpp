// SPDX-License-Identifier: Apache-2.0
// A daemon's habits while a recording is open: `closes_fds close FILE` closes every descriptor above 2 and opens its
// own file, which gets the number that the recording had; `closes_fds dup2 FILE` lays its file over all numbers. The
// file must then hold the program's bytes and nothing else.
#include <fcntl.h>
#include <sys/stat.h>

#include <cstring>
#include <string>

#include "scene.h"

int main(int argc, char** argv) {
    if (argc < 3)
        return 2;
    bool close_all = std::strcmp(argv[1], "close") == 0;
    Scene scene;
    scene.open_with_graph();
    scene.replay("cuGraphLaunch");

    int own = -1;
    if (close_all) {
        for (int fd = 3; fd < 1024; ++fd)
            close(fd);
        // Several, so that one of them has the number whatever it was.
        for (int copy = 0; copy < 64; ++copy) {
            int fd = open(argv[2], O_RDWR | O_CREAT | O_APPEND, 0600);
            if (own < 0)
                own = fd;
        }
    } else {
        own = open(argv[2], O_RDWR | O_CREAT | O_APPEND, 0600);
        for (int fd = 3; fd < 1024; ++fd) {
            if (fd != own)
                dup2(own, fd);
        }
    }
    std::string expected = "first line of the program\n";
    bool written = write(own, expected.data(), expected.size()) == static_cast<ssize_t>(expected.size());
    scene.free_input_and_replay();
    CUgraphExec second = scene.graph_of(scene.output, scene.output, scene.stream);
    say("cuGraphExecDestroy", scene.cu.exec_destroy(second));
    std::string last = "last line of the program\n";
    written = written && write(own, last.data(), last.size()) == static_cast<ssize_t>(last.size());
    expected += last;

    std::string content(65536, '\0');
    ssize_t length = pread(own, content.data(), content.size(), 0);
    content.resize(length > 0 ? static_cast<size_t>(length) : 0);
    std::printf("written %d, file intact %d\n", written, content == expected);
    return content == expected ? 0 : 1;
}
