// SPDX-License-Identifier: Apache-2.0
// Another preload, behind the shim: the next cuMemFree_v2 after held_free_arm() stops before it frees anything, until
// held_free_release(). A sleep in its place would make a race of the test itself.
#include <dlfcn.h>
#include <semaphore.h>
#include <stddef.h>

static int armed;
static sem_t arrived, released;

void held_free_arm(void);
void held_free_await(void);
void held_free_release(void);
int cuMemFree_v2(unsigned long long pointer);

void held_free_arm(void) {
    sem_init(&arrived, 0, 0);
    sem_init(&released, 0, 0);
    __atomic_store_n(&armed, 1, __ATOMIC_RELEASE);
}

void held_free_await(void) {
    while (sem_wait(&arrived) != 0) {
    }
}

void held_free_release(void) {
    sem_post(&released);
}

int cuMemFree_v2(unsigned long long pointer) {
    int (*next)(unsigned long long) = NULL;
    *(void**)&next = dlsym(RTLD_NEXT, "cuMemFree_v2");
    if (__atomic_exchange_n(&armed, 0, __ATOMIC_ACQ_REL)) {
        sem_post(&arrived);
        while (sem_wait(&released) != 0) {
        }
    }
    return next != NULL ? next(pointer) : 3;  // 3: not initialised
}
