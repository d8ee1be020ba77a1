// SPDX-License-Identifier: Apache-2.0
// Frees an input and replays on a thread with the smallest stack that pthread gives: what the shim adds must fit.
#include <limits.h>

#include "scene.h"
#include "thread_of.h"

namespace {

void* work(void* argument) {
    // Only the calls: printf alone wants more stack than is left here, with or without a shim.
    auto* scene = static_cast<Scene*>(argument);
    long code = scene->cu.set_current(scene->context);
    code = code * 1000 + scene->cu.launch(scene->exec, scene->stream);
    code = code * 1000 + scene->cu.free(scene->input);
    code = code * 1000 + scene->cu.launch(scene->exec, scene->stream);
    return reinterpret_cast<void*>(code);
}

}  // namespace

int main() {
    static Scene scene;
    scene.open_with_graph();
    run_on_stack_of(static_cast<size_t>(PTHREAD_STACK_MIN), work, scene);
    return 0;
}
