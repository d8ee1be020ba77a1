// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace keepgraph::config {

/// "0.1.0": the version of meson.build.
inline constexpr char version[] = KEEPGRAPH_VERSION;

}  // namespace keepgraph::config
