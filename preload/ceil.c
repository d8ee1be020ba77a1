// SPDX-License-Identifier: Apache-2.0
//
// ceil() for the shim that clang builds for x86-64. fmt's text of floating-point numbers needs it; g++ writes it
// inline, clang calls it, and the shim would need libm.so.6 in every process. Rejected: libm.a (it is not
// position-independent) and -msse4.1, which makes it one instruction but leaves older processors out.
double ceil(double x);

double ceil(double x) {
    if (!(x > -0x1p53 && x < 0x1p53))  // has no fraction, or is no number
        return x;
    const double whole = (double)(long long)x;  // towards zero
    return whole < x ? whole + 1 : whole;
}
