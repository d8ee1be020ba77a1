// SPDX-License-Identifier: Apache-2.0
// Another preload, behind the shim, that stops one call of the program's until held_release(): the next cuMemFree_v2
// after held_arm() before it frees anything, or the next cuModuleUnload after it has unloaded. A sleep in its place
// would make a race of the test itself.
#include <dlfcn.h>
#include <semaphore.h>
#include <stddef.h>

static int armed;
static sem_t arrived, released;

void held_arm(void);
void held_await(void);
void held_release(void);
int cuMemFree_v2(unsigned long long pointer);
int cuModuleUnload(void* module);

void held_arm(void) {
    sem_init(&arrived, 0, 0);
    sem_init(&released, 0, 0);
    __atomic_store_n(&armed, 1, __ATOMIC_RELEASE);
}

void held_await(void) {
    while (sem_wait(&arrived) != 0) {
    }
}

void held_release(void) {
    sem_post(&released);
}

static void stop(void) {
    if (!__atomic_exchange_n(&armed, 0, __ATOMIC_ACQ_REL))
        return;
    sem_post(&arrived);
    while (sem_wait(&released) != 0) {
    }
}

int cuMemFree_v2(unsigned long long pointer) {
    int (*next)(unsigned long long) = NULL;
    *(void**)&next = dlsym(RTLD_NEXT, "cuMemFree_v2");
    stop();
    return next != NULL ? next(pointer) : 3;  // 3: not initialised
}

int cuModuleUnload(void* module) {
    int (*next)(void*) = NULL;
    *(void**)&next = dlsym(RTLD_NEXT, "cuModuleUnload");
    const int result = next != NULL ? next(module) : 3;
    stop();
    return result;
}
