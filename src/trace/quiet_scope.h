// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <cerrno>

namespace keepgraph::trace {

/// Keeps a look at the process invisible to it: errno is put back, and no cancellation acts inside.
///
/// write(), read() and close() are cancellation points. A thread with a pending pthread_cancel would be unwound right
/// through our noexcept functions, and with a static libgcc that ends in abort. Switching cancellation off for the few
/// microseconds costs no system call; the request stays pending and acts at the program's own next cancellation point.
class QuietScope {
  public:
    QuietScope() noexcept : errno_(errno) { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_); }
    ~QuietScope() {
        int ignored = 0;
        pthread_setcancelstate(cancel_state_, &ignored);
        errno = errno_;
    }
    QuietScope(const QuietScope&) = delete;
    QuietScope& operator=(const QuietScope&) = delete;

  private:
    int errno_;
    int cancel_state_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace keepgraph::trace
