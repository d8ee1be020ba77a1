// SPDX-License-Identifier: Apache-2.0
// Loses the ground under its feet between CUDA's start and the first graph, or right after it: `moves chdir`,
// `moves setuid`, `moves seccomp`, `moves rlimit`, `moves nothing`.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstring>

#include "scene.h"

namespace {

/// From here on no file can be opened, no folder and no task made: each gives EACCES.
int deny_new_things() {
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 5, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mkdirat, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 13),
    };
    sock_fprog program{sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

}  // namespace

int main(int argc, char** argv) {
    const Way way(argc, argv, "nothing");
    Scene scene;
    scene.open();
    if (way.is("chdir"))
        std::printf("chdir %d\n", chdir("/"));
    if (way.is("seccomp"))
        std::printf("seccomp %d\n", deny_new_things());
    if (way.is("rlimit")) {
        rlimit none{3, 3};
        std::printf("setrlimit %d\n", setrlimit(RLIMIT_NOFILE, &none));
    }
    scene.input = scene.buffer(1.0f);
    scene.output = scene.buffer(0.0f);
    scene.exec = scene.graph_of(scene.input, scene.output, scene.stream);
    scene.replay("cuGraphLaunch");
    if (way.is("setuid"))
        std::printf("setuid %d\n", setuid(65534));
    scene.free_input_and_replay();
    return 0;
}
