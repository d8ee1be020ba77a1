/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into the command: a file whose name ends in "-capable" has file capabilities. Real ones need rights that a
   test cannot count on. */
#include <stddef.h>
#include <string.h>
#include <sys/types.h>

ssize_t getxattr(const char* path, const char* name, void* value, size_t size) {
    const char* end = strrchr(path, '-');
    (void)value;
    (void)size;
    return strcmp(name, "security.capability") == 0 && end != NULL && strcmp(end, "-capable") == 0 ? 20 : -1;
}
