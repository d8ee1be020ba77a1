// SPDX-License-Identifier: Apache-2.0
// A probe does something to the driver and writes down codes, booleans and counts: nothing that differs from run to
// run. It becomes one line, `name: key=value key=value`.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "driver.h"

namespace conformance {

class Out {
  public:
    void operator()(std::string_view key, long long value) {
        text += " " + std::string(key) + "=" + std::to_string(value);
    }
    void operator()(std::string_view key, std::string_view value) {
        text += " " + std::string(key) + "=" + std::string(value);
    }
    std::string text;
};

struct Probe {
    std::string name;
    std::function<void(Out&)> run;
};

std::vector<Probe>& probes();  // in the order of their names

struct Register {
    Register(std::string name, std::function<void(Out&)> run);
};

}  // namespace conformance

#define PROBE_JOINED(a, b) a##b
#define PROBE_NAMED(name, number)                                                                           \
    static void PROBE_JOINED(probe_, number)(conformance::Out&);                                            \
    static const conformance::Register PROBE_JOINED(register_, number)(name, PROBE_JOINED(probe_, number)); \
    static void PROBE_JOINED(probe_, number)([[maybe_unused]] conformance::Out & out)

/// PROBE("cuMemAlloc_v2.success") { out("alloc", CU(cuMemAlloc_v2)(&p, 256)); }
/// Every DRIVER row of symbols.def must have a probe `<symbol>.success` in which a call of it returns 0, and a probe
/// `<symbol>.error` in which one does not.
#define PROBE(name) PROBE_NAMED(name, __COUNTER__)
