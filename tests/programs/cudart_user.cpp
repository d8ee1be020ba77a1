// SPDX-License-Identifier: Apache-2.0
// A library that brings a cudart into the process and is needed by a plugin which does not name one itself.
extern "C" int cudart_user() {
    return 0;
}
