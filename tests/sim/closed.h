// SPDX-License-Identifier: Apache-2.0
// Addresses behind which there is nothing: of large dead memory, of reservations without a mapping. The CPU cannot read
// them, and work that touches them fails; other dead memory stays readable (address_space.h).
#pragma once

#include <cstddef>
#include <optional>
#include <shared_mutex>

#include "objects.h"

namespace keepgraph::sim {

// ---- Under the lock. Both wait for the work that runs, as a free of the real driver waits for the device.
/// Their contents are lost. `copy_gets`: what a copy gets that touches them; other work gets ILLEGAL_ADDRESS.
void close_addresses(CUdeviceptr start, size_t size, CUresult copy_gets = CUDA_ERROR_ILLEGAL_ADDRESS);
/// Zeros, where they were closed.
void open_addresses(CUdeviceptr start, size_t size);

/// What a piece of work holds: it asks for all that it will touch, then runs, and nothing of it is closed meanwhile.
/// Any thread, without the lock.
class Touching {
  public:
    Touching();
    /// CUDA_SUCCESS, or what the driver says of closed addresses. Those where the program has mapped memory of its own
    /// since are no longer closed.
    CUresult by_copy(CUdeviceptr address, size_t size) const;
    CUresult by_write(CUdeviceptr address, size_t size) const;   // a memset, a stream's own write
    CUresult by_kernel(CUdeviceptr address, size_t size) const;  // refused also where no memory of the double is
    /// After the last question: others may have the lock.
    void run() { asking_.reset(); }

  private:
    std::optional<Locked> asking_;
    std::shared_lock<std::shared_mutex> held_;
};

}  // namespace keepgraph::sim
