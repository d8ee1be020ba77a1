// SPDX-License-Identifier: Apache-2.0
// A program with its own signal handlers: a timer that interrupts everything, and a SIGSEGV that it survives by itself.
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#include "scene.h"

namespace {

volatile sig_atomic_t ticks = 0;
sigjmp_buf back;

void on_tick(int) {
    ticks = ticks + 1;
}
void on_fault(int) {
    siglongjmp(back, 1);
}

}  // namespace

int main() {
    struct sigaction action {};
    action.sa_handler = on_tick;  // no SA_RESTART: a call that does not expect EINTR shows itself
    sigaction(SIGALRM, &action, nullptr);
    action.sa_handler = on_fault;
    sigaction(SIGSEGV, &action, nullptr);

    itimerval often{{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &often, nullptr);
    Scene scene;
    scene.open_with_graph();
    int failed = 0;
    for (int round = 0; round < 3000 || ticks < 20; ++round)
        failed += scene.cu.launch(scene.exec, scene.stream) != 0;
    scene.free_input_and_replay();
    itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    std::printf("failed launches %d, interrupted %s\n", failed, ticks >= 20 ? "often" : "rarely");

    if (sigsetjmp(back, 1) == 0) {
        volatile int* volatile nowhere = reinterpret_cast<volatile int*>(8);
        *nowhere = 1;
        std::printf("the fault did not happen\n");
    } else {
        std::printf("survived its own fault\n");
    }
    for (int number = 1; number < 65; ++number) {
        struct sigaction now {};
        if (sigaction(number, nullptr, &now) != 0)
            continue;
        if (now.sa_handler == SIG_DFL)
            continue;
        std::printf("signal %d: %s\n", number,
                    now.sa_handler == on_tick    ? "on_tick"
                    : now.sa_handler == on_fault ? "on_fault"
                    : now.sa_handler == SIG_IGN  ? "ignored"
                                                 : "somebody else's");
    }
    return 0;
}
