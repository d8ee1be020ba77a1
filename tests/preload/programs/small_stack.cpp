// SPDX-License-Identifier: Apache-2.0
// Frees an input and replays on a thread with the smallest stack that pthread gives: what the shim adds must fit.
#include <limits.h>
#include <pthread.h>

#include "scene.h"

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
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    std::printf("pthread_attr_setstacksize %d\n",
                pthread_attr_setstacksize(&attributes, static_cast<size_t>(PTHREAD_STACK_MIN)));
    pthread_t thread;
    int created = pthread_create(&thread, &attributes, work, &scene);
    std::printf("pthread_create %d\n", created);
    void* code = nullptr;
    if (created == 0)
        pthread_join(thread, &code);
    std::printf("codes %ld\n", reinterpret_cast<long>(code));
    return 0;
}
