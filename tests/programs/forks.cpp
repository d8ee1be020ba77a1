// SPDX-License-Identifier: Apache-2.0
// One graph with a freed input around a child process:
//   forks parent     CUDA in the parent only; a forked child runs and ends by exit
//   forks before     the child is forked before any CUDA call and uses CUDA, then the parent does
//   forks exec       the parent uses CUDA, forks, and the child runs this program again by exec
//   forks spawn      the same by posix_spawn
//   forks vfork      the same by vfork and exec
//   forks after      CUDA before the fork, and the child calls it too: the driver's own refusal
#include "victim.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <string>

extern char** environ;

namespace {

void use_cuda() {
    gpu::Stream stream = nullptr;
    float* output = nullptr;
    MUST(gpu::exec_destroy(freed_input(&stream, &output)));
}

void wait_for(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("child: exited %d, code %d\n", WIFEXITED(status), WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string way = argc > 1 ? argv[1] : "parent";
    char self[] = "/proc/self/exe";
    char word[] = "child";
    char* again[] = {self, word, nullptr};
    if (way == "child") {
        std::printf("child of an exec\n");
        use_cuda();
        return 5;
    }
    if (way == "before") {
        const pid_t child = fork();
        if (child == 0) {
            use_cuda();
            std::exit(5);
        }
        wait_for(child);
        use_cuda();
        return 0;
    }
    use_cuda();
    pid_t child = -1;
    if (way == "parent") {
        child = fork();
        if (child == 0) {
            std::printf("child without CUDA\n");
            std::exit(5);
        }
    } else if (way == "exec") {
        child = fork();
        if (child == 0) {
            execv(self, again);
            _exit(9);
        }
    } else if (way == "spawn") {
        posix_spawn(&child, self, nullptr, nullptr, again, environ);
    } else if (way == "vfork") {
        child = vfork();
        if (child == 0) {
            execv(self, again);
            _exit(9);
        }
    } else if (way == "after") {
        child = fork();
        if (child == 0) {
            void* pointer = nullptr;
            SHOW(gpu::malloc(&pointer, bytes));
            _exit(5);
        }
    }
    wait_for(child);
    return 0;
}
