// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <time.h>

#include <cerrno>

namespace keepgraph::log {

/// A write of ours must not kill the program: a reader of stderr that is gone gives SIGPIPE, a file at its RLIMIT_FSIZE
/// gives SIGXFSZ, and both end a process by default. While this object lives they are held back for this thread; the
/// one that our write caused is taken back, and the thread's mask is afterwards exactly what it was.
///
/// Rejected: ignoring the signals, which is process-wide and the host's to decide.
class HeldSignals {
  public:
    enum class Which {
        writes,  // SIGPIPE and SIGXFSZ only: what waits may still be interrupted, so that Ctrl-C works on a stuck
                 // stderr
        all,     // and everything that a handler could run for: a handler that jumps away or calls CUDA would leave our
                 // lock locked. Faults, abort and SIGSYS (a sandbox answers system calls in it) stay as they are
    };

    explicit HeldSignals(Which which) noexcept {
        sigset_t held;
        if (which == Which::all) {
            sigfillset(&held);
            for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS})
                sigdelset(&held, fault);
        } else {
            sigemptyset(&held);
            sigaddset(&held, SIGPIPE);
            sigaddset(&held, SIGXFSZ);
        }
        held_ = pthread_sigmask(SIG_BLOCK, &held, &before_) == 0;
        sigset_t pending;
        sigemptyset(&caused_);
        sigemptyset(&was_pending_);
        if (held_ && sigpending(&pending) == 0)
            was_pending_ = pending;
    }
    ~HeldSignals() {
        if (!held_)
            return;
        const timespec at_once{0, 0};
        for (const int signal : {SIGPIPE, SIGXFSZ}) {
            // One that was pending before is the host's. Signals do not queue, so ours has merged into it.
            if (sigismember(&caused_, signal) != 1 || sigismember(&was_pending_, signal) == 1)
                continue;
            sigset_t only;
            sigemptyset(&only);
            sigaddset(&only, signal);
            while (sigtimedwait(&only, nullptr, &at_once) < 0 && errno == EINTR) {
            }
        }
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    HeldSignals(const HeldSignals&) = delete;
    HeldSignals& operator=(const HeldSignals&) = delete;

    /// Tells which errno a write of ours ended with, so that its signal is taken back.
    void write_failed(int error) noexcept {
        if (error == EPIPE)
            sigaddset(&caused_, SIGPIPE);
        if (error == EFBIG)
            sigaddset(&caused_, SIGXFSZ);
    }

  private:
    sigset_t before_;
    sigset_t was_pending_;
    sigset_t caused_;
    bool held_ = false;
};

}  // namespace keepgraph::log
