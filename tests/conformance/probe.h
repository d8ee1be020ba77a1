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

/// What has to be there before a probe. Those that ask cudart come last: it retains the primary context and allocates,
/// and a probe of the driver has to give the same with and without a cudart on the machine.
enum class Needs { driver, runtime };

struct Probe {
    Needs needs;
    std::string name;
    std::function<void(Out&)> run;
};

std::vector<Probe>& probes();  // the driver's, then cudart's, in the order of their names

struct Register {
    Register(std::string name, std::function<void(Out&)> run, Needs needs = Needs::driver);
};

}  // namespace conformance

#define PROBE_JOINED(a, b) a##b
#define PROBE_NAMED(name, needs, number)                                                                   \
    static void PROBE_JOINED(probe_, number)(conformance::Out&);                                           \
    static const conformance::Register PROBE_JOINED(register_, number)(name, PROBE_JOINED(probe_, number), \
                                                                       conformance::Needs::needs);         \
    static void PROBE_JOINED(probe_, number)([[maybe_unused]] conformance::Out & out)

/// PROBE("cuMemAlloc_v2.success") { out("alloc", CU(cuMemAlloc_v2)(&p, 256)); }
/// Every row of symbols.def must have a probe `<symbol>.success` in which a call of it returns 0, and a probe
/// `<symbol>.error` in which one does not.
#define PROBE(name) PROBE_NAMED(name, driver, __COUNTER__)
/// The same for a probe that calls cudart.
#define RUNTIME_PROBE(name) PROBE_NAMED(name, runtime, __COUNTER__)
