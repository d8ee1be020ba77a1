// SPDX-License-Identifier: Apache-2.0
// Two builds of one library: same names, same sizes, the functions in another order.
#define FUNCTION(name, value)                                                \
    extern "C" __attribute__((visibility("default"), noinline)) int name() { \
        asm volatile("nop; nop; nop; nop");                                  \
        return value;                                                        \
    }
#ifdef SWAPPED
FUNCTION(kg_route_other, 3)
FUNCTION(kg_route_probe, 2)
#else
FUNCTION(kg_route_probe, 1)
FUNCTION(kg_route_other, 3)
#endif
