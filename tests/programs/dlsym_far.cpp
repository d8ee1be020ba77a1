// SPDX-License-Identifier: Apache-2.0
// The library that dlsym_near.cpp looks into.
extern "C" {
__attribute__((visibility("default"))) int cuSomethingElse() {
    return 1;
}
__attribute__((visibility("default"))) int cudnnCreate() {
    return 2;
}
__attribute__((visibility("default"))) int far_anchor() {
    return 3;
}
}
