/* SPDX-License-Identifier: Apache-2.0 */
/* Stands for the libc.so.6 of an old system: only its version definitions are looked at. */
int old_function(void);
int older_function(void);
int old_function(void) {
    return 17;
}
int older_function(void) {
    return 2;
}
