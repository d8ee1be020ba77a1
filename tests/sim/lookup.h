/* SPDX-License-Identifier: Apache-2.0 */
/* The table behind cuGetProcAddress. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

struct sim_lookup_entry {
    const char* base;
    int version;
    int per_thread;
    const char* exported;
    int (*address)(void); /* of any signature */
};

extern const struct sim_lookup_entry sim_lookup_entries[];
extern const unsigned sim_lookup_count;

#ifdef __cplusplus
}
#endif
