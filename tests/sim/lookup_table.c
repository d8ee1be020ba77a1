// SPDX-License-Identifier: Apache-2.0
// In C and without cuda.h: the table needs addresses alone, and headers older than 13.0 lack some declarations.
#include "lookup.h"

#define LOOKUP(base, version, exported) int exported(void);
#define LOOKUP_PER_THREAD(base, version, exported) int exported(void);
#include "lookups.def"
#undef LOOKUP
#undef LOOKUP_PER_THREAD

const struct sim_lookup_entry sim_lookup_entries[] = {
#define LOOKUP(base, version, exported) {#base, version, 0, #exported, exported},
#define LOOKUP_PER_THREAD(base, version, exported) {#base, version, 1, #exported, exported},
#include "lookups.def"
};

const unsigned sim_lookup_count = sizeof sim_lookup_entries / sizeof *sim_lookup_entries;
