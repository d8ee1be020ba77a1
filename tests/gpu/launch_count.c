// SPDX-License-Identifier: Apache-2.0
// Counts the cuGraphLaunch calls of an unmodified process without the shim: the driver loads this library at cuInit
// (CUDA_INJECTION64_PATH) and calls InitializeInjection. The count lies in a mapped file $LAUNCH_COUNT_DIR/<pid>, eight
// bytes, so it is there however the process ends.
#include <cupti.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static _Atomic unsigned long long* launches;

static void CUPTIAPI on_call(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
    (void)user, (void)domain, (void)id;
    const CUpti_CallbackData* call = data;
    if (call->callbackSite == CUPTI_API_ENTER)
        atomic_fetch_add_explicit(launches, 1, memory_order_relaxed);
}

static int failed(const char* what, int code) {
    fprintf(stderr, "launch_count: %s: %d\n", what, code);
    return 1;
}

__attribute__((visibility("default"))) int InitializeInjection(void) {
    static atomic_flag begun = ATOMIC_FLAG_INIT;
    const char* folder = getenv("LAUNCH_COUNT_DIR");
    if (folder == NULL || atomic_flag_test_and_set(&begun))
        return 1;
    char path[4096];
    snprintf(path, sizeof path, "%s/%d", folder, (int)getpid());
    CUpti_SubscriberHandle subscriber = NULL;
    int code = cuptiSubscribe(&subscriber, on_call, NULL);
    if (code != 0)
        return failed("cuptiSubscribe", code);
    const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof *launches) != 0)
        return failed(path, file);
    launches = mmap(NULL, sizeof *launches, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (launches == MAP_FAILED)
        return failed("mmap", 0);
    const CUpti_CallbackId ids[] = {CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz};
    for (unsigned i = 0; i < sizeof ids / sizeof *ids; ++i)
        if ((code = cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, ids[i])) != 0)
            return failed("cuptiEnableCallback", code);
    return 1;
}
