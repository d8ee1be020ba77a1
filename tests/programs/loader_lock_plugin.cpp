// SPDX-License-Identifier: Apache-2.0
// See loader_lock.cpp.
extern "C" void loader_lock_work();

__attribute__((constructor)) static void begin() {
    loader_lock_work();
}
