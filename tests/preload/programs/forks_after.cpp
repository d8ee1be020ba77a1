// SPDX-License-Identifier: Apache-2.0
// Children that are forked after the first use of CUDA and have no program of their own (tests/programs/forks has the
// other kinds):
//   forks_after abort     the child aborts
//   forks_after frees     it frees and destroys what it inherited
//   forks_after threads   20 of them, while another thread is inside the driver
//   forks_after _Fork     made past the handlers of pthread_atfork, it exits in order
//   forks_after clone     the same by the bare system call
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "scene.h"

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

}  // namespace

int main(int argc, char** argv) {
    const Way way(argc, argv, "abort");
    setvbuf(stdout, nullptr, _IONBF, 0);

    Scene scene;
    scene.open_with_graph();
    scene.replay("cuGraphLaunch");
    if (way.is("abort")) {
        pid_t child = fork();
        if (child == 0)
            std::abort();
        wait_for(child);
    } else if (way.is("frees")) {  // what a child of a Python server does when it collects garbage
        pid_t child = fork();
        if (child == 0) {
            scene.cu.free(scene.input);
            scene.cu.exec_destroy(scene.exec);
            std::exit(14);
        }
        wait_for(child);
    } else if (way.is("_Fork") || way.is("clone")) {
        const pid_t child = way.is("_Fork") ? _Fork() : static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
        if (child == 0)
            std::exit(16);
        wait_for(child);
    } else if (way.is("threads")) {  // some lock of some library is held at the fork
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
