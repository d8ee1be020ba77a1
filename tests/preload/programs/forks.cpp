// SPDX-License-Identifier: Apache-2.0
// Every way to make a child: `forks WAY`. Children print through the shared stdout, which the parent reads after wait,
// so the order is fixed.
#include <spawn.h>
#include <sys/wait.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "scene.h"

extern char** environ;

namespace {

void wait_for(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status)) {
        std::printf("child exit %d\n", WEXITSTATUS(status));
    } else {
        std::printf("child signal %d\n", WTERMSIG(status));
    }
    std::fflush(stdout);
}

void use_cuda(const char* who) {
    std::printf("%s uses CUDA\n", who);
    Scene scene;
    scene.open_with_graph();
    scene.free_input_and_replay();
}

}  // namespace

int main(int argc, char** argv) {
    const char* way = argc > 1 ? argv[1] : "before";
    auto is = [way](const char* name) { return std::strcmp(way, name) == 0; };
    setvbuf(stdout, nullptr, _IONBF, 0);

    if (is("child")) {  // what exec and spawn start
        use_cuda("new program");
        return 11;
    }
    if (is("before")) {  // the pattern of every pre-forking server: no CUDA in the parent yet
        pid_t child = fork();
        if (child == 0) {
            use_cuda("child");
            std::exit(12);
        }
        wait_for(child);
        use_cuda("parent");
        return 0;
    }

    Scene scene;
    scene.open_with_graph();
    scene.replay("cuGraphLaunch");
    if (is("after")) {  // CUDA is unusable in the child; it only leaves, by exit handlers and all
        pid_t child = fork();
        if (child == 0) {
            std::printf("child leaves\n");
            std::exit(13);
        }
        wait_for(child);
    } else if (is("after_abort")) {
        pid_t child = fork();
        if (child == 0)
            std::abort();
        wait_for(child);
    } else if (is("after_frees")) {  // what a child of a Python server does when it collects garbage
        pid_t child = fork();
        if (child == 0) {
            scene.cu.free(scene.input);
            scene.cu.exec_destroy(scene.exec);
            std::exit(14);
        }
        wait_for(child);
    } else if (is("exec")) {
        pid_t child = fork();
        if (child == 0) {
            execl("/proc/self/exe", argv[0], "child", static_cast<char*>(nullptr));
            _exit(126);
        }
        wait_for(child);
    } else if (is("vfork")) {
        pid_t child = vfork();
        if (child == 0) {
            execl("/proc/self/exe", argv[0], "child", static_cast<char*>(nullptr));
            _exit(126);
        }
        wait_for(child);
    } else if (is("spawn")) {
        char child_argument[] = "child";
        char* arguments[] = {argv[0], child_argument, nullptr};
        pid_t child = 0;
        if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, environ) == 0)
            wait_for(child);
    } else if (is("threads")) {  // some lock of some library is held at the fork
        std::atomic<bool> stop{false};
        std::atomic<int> failed{0};
        std::thread busy([&] {
            scene.cu.set_current(scene.context);
            while (!stop) {
                CUdeviceptr pointer = 0;
                failed += scene.cu.alloc(&pointer, 4096) != CUDA_SUCCESS;
                failed += scene.cu.launch(scene.exec, scene.stream) != CUDA_SUCCESS;
                failed += scene.cu.free(pointer) != CUDA_SUCCESS;
            }
        });
        for (int round = 0; round < 20; ++round) {
            pid_t child = fork();
            if (child == 0)
                std::exit(15);
            int status = 0;
            waitpid(child, &status, 0);
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 15)
                std::printf("round %d: status %x\n", round, status);
        }
        stop = true;
        busy.join();
        std::printf("failed calls %d\n", failed.load());
    }
    scene.free_input_and_replay();
    return 0;
}
