// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "driver/api.h"

namespace keepgraph::session {

/// What is off because the driver lacks a function, a line each: "libcuda has no cuFuncGetParamInfo: kernel arguments
/// are not looked into, their nodes count as opaque". First what the door told driver_lacks(), then the functions that
/// keepgraph itself calls. Empty with a driver of 12.4 or newer. Any thread.
std::vector<std::string> features_off(const driver::Api& api);

}  // namespace keepgraph::session
