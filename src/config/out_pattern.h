// SPDX-License-Identifier: Apache-2.0
//
// The folder pattern of OUT: %t time, %h host, %p process, %r rank, %% a percent sign.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

namespace keepgraph::config {

struct OutContext {
    std::time_t time = 0;
    std::string host;
    long pid = 0;
    std::string rank = "0";
};

// What this process would put in: getenv, gethostname, getpid, time. Opens no file.
OutContext out_context() noexcept;

// False when the pattern has a % sequence that is not in the list above.
bool valid_out(std::string_view pattern) noexcept;

// Times are UTC, since a time zone would have to be read from a file of the host program's choice.
// An unknown sequence, which parse() has already refused, stays as it is.
std::string expand_out(std::string_view pattern, const OutContext& context);

}  // namespace keepgraph::config
