// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace keepgraph::session {

/// The runtime API call that the calling thread is in ("cudaFree"), null outside. The runtime door sets it around the
/// real call; a driver call below it takes the name into its event. A static cudart has no door and leaves it null.
inline thread_local constinit const char* runtime_call = nullptr;

}  // namespace keepgraph::session
