// SPDX-License-Identifier: Apache-2.0
// A thread with as little stack as a program may give one.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdio>

/// Runs `work` on a thread of `stack` bytes, and prints the number that it returned. The work has to print nothing:
/// what printf wants depends on the C library.
template <class Scene>
void run_on_stack_of(std::size_t stack, void* (*work)(void*), Scene& scene) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    std::printf("pthread_attr_setstacksize %d\n", pthread_attr_setstacksize(&attributes, stack));
    pthread_t thread;
    const int created = pthread_create(&thread, &attributes, work, &scene);
    std::printf("pthread_create %d\n", created);
    void* codes = nullptr;
    if (created == 0)
        pthread_join(thread, &codes);
    std::printf("codes %ld\n", reinterpret_cast<long>(codes));
}
