// SPDX-License-Identifier: Apache-2.0
// Every way in which a process can end while a graph with a freed input lives: `ends WAY`.
#include <pthread.h>
#include <signal.h>

#include <cstring>
#include <thread>

#include "scene.h"

namespace {

Scene* scene;

/// Destroyed after main, in whatever order: frees memory and destroys the exec, as global objects of programs do.
struct Global {
    bool armed = false;
    ~Global() {
        if (!armed)
            return;
        say("static destructor: cuMemFree", scene->cu.free(scene->output));
        say("static destructor: cuGraphLaunch", scene->cu.launch(scene->exec, scene->stream));
        say("static destructor: cuGraphExecDestroy", scene->cu.exec_destroy(scene->exec));
    }
} global;

void late() {
    say("atexit: cuMemFree", scene->cu.free(scene->output));
    say("atexit: cuGraphLaunch", scene->cu.launch(scene->exec, scene->stream));
}

}  // namespace

int main(int argc, char** argv) {
    const char* way = argc > 1 ? argv[1] : "return";
    auto is = [way](const char* name) { return std::strcmp(way, name) == 0; };
    if (is("atexit"))
        std::atexit(late);  // registered before CUDA starts, so it runs after what CUDA registered
    if (is("quick"))
        std::at_quick_exit(late);
    scene = new Scene;
    scene->open_with_graph();
    scene->free_input_and_replay();
    std::printf("ends by %s\n", way);
    std::fflush(stdout);
    global.armed = is("static");
    if (is("exit"))
        std::exit(3);
    if (is("quick"))
        std::quick_exit(4);
    if (is("abort"))
        std::abort();
    if (is("_exit"))
        _exit(5);
    if (is("kill"))
        raise(SIGKILL);
    if (is("term"))
        raise(SIGTERM);
    if (is("segv"))
        raise(SIGSEGV);
    if (is("throw"))
        throw 7;
    if (is("thread")) {
        std::thread([] { std::exit(6); }).detach();
        for (;;)
            pause();
    }
    if (is("pthread_exit"))
        pthread_exit(nullptr);
    return is("return") ? 2 : 0;
}
