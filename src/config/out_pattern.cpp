// SPDX-License-Identifier: Apache-2.0
#include "config/out_pattern.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace keepgraph::config {
namespace {

// Host and rank come from outside: they may not lead out of the folder that the user named.
std::string one_path_component(std::string text) {
    for (char& c : text) {
        if (c == '/' || static_cast<unsigned char>(c) < ' ') {
            c = '_';
        }
    }
    return text;
}

std::string utc(std::time_t time) {
    std::tm parts{};
    if (gmtime_r(&time, &parts) == nullptr) {
        return "0";
    }
    char text[64];
    std::snprintf(text, sizeof text, "%04d%02d%02d-%02d%02d%02d", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                  parts.tm_hour, parts.tm_min, parts.tm_sec);
    return text;
}

}  // namespace

OutContext out_context() noexcept {
    OutContext context;
    context.time = std::time(nullptr);
    context.pid = getpid();
    try {
        char host[256] = {};
        context.host = gethostname(host, sizeof host - 1) == 0 && host[0] != '\0' ? host : "localhost";
        for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "RANK"}) {
            const char* value = std::getenv(name);
            if (value != nullptr && *value != '\0') {
                context.rank = value;
                break;
            }
        }
    } catch (...) {
        // Out of memory: the folder has a shorter name, which is made exclusively all the same.
    }
    return context;
}

bool valid_out(std::string_view pattern) noexcept {
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] == '%') {
            ++i;
            if (i == pattern.size() || std::string_view("thpr%").find(pattern[i]) == std::string_view::npos) {
                return false;
            }
        }
    }
    return true;
}

std::string expand_out(std::string_view pattern, const OutContext& context) {
    std::string result;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] != '%' || i + 1 == pattern.size()) {
            result += pattern[i];
            continue;
        }
        switch (const char key = pattern[++i]) {
            case 't':
                result += utc(context.time);
                break;
            case 'h':
                result += one_path_component(context.host);
                break;
            case 'p':
                result += std::to_string(context.pid);
                break;
            case 'r':
                result += one_path_component(context.rank);
                break;
            case '%':
                result += '%';
                break;
            default:
                result += '%';
                result += key;
        }
    }
    return result;
}

}  // namespace keepgraph::config
