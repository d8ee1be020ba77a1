// SPDX-License-Identifier: Apache-2.0
// The kernels of tests/programs/kernels.h as host functions, found by the name of the PTX entry.
#include <chrono>
#include <cstring>

#include "closed.h"
#include "code.h"

namespace keepgraph::sim {
namespace {

/// Reads parameters one after the other, with the alignment that their types have in PTX too.
class Values {
  public:
    explicit Values(const unsigned char* values) : values_(values) {}

    template <class T>
    T next() {
        offset_ = (offset_ + alignof(T) - 1) / alignof(T) * alignof(T);
        T value;
        std::memcpy(&value, values_ + offset_, sizeof value);
        offset_ += sizeof value;
        return value;
    }

  private:
    const unsigned char* values_;
    size_t offset_ = 0;
};

template <class T>
CUresult reach(const Touching& memory, const T* pointer, unsigned long long count) {
    return memory.by_kernel(reinterpret_cast<CUdeviceptr>(pointer), count * sizeof(T));
}

/// The shape of most of them: out[i] = value(i) for the i below n that have a thread.
template <class Value, class... Inputs>
CUresult for_each(float* out, int n, unsigned long long threads, Value value, Inputs... inputs) {
    const unsigned long long count = n > 0 ? std::min<unsigned long long>(n, threads) : 0;
    Touching memory;
    for (const float* pointer : {static_cast<const float*>(out), inputs...}) {
        if (const CUresult code = reach(memory, pointer, count); code != CUDA_SUCCESS)
            return code;
    }
    memory.run();
    for (unsigned long long i = 0; i < count; ++i)
        out[i] = value(i);
    return CUDA_SUCCESS;
}

CUresult fill(const unsigned char* values, unsigned long long, unsigned long long threads) {
    Values v(values);
    auto* out = v.next<float*>();
    const auto value = v.next<float>();
    const auto n = v.next<int>();
    return for_each(out, n, threads, [=](auto) { return value; });
}

CUresult add(const unsigned char* values, unsigned long long, unsigned long long threads) {
    Values v(values);
    const auto* a = v.next<const float*>();
    const auto* b = v.next<const float*>();
    auto* out = v.next<float*>();
    const auto n = v.next<int>();
    return for_each(
        out, n, threads, [=](auto i) { return a[i] + b[i]; }, a, b);
}

CUresult scale(const unsigned char* values, unsigned long long, unsigned long long threads) {
    Values v(values);
    const auto* in = v.next<const float*>();
    auto* out = v.next<float*>();
    const auto factor = v.next<float>();
    const auto n = v.next<int>();
    return for_each(
        out, n, threads, [=](auto i) { return in[i] * factor; }, in);
}

CUresult copy(const unsigned char* values, unsigned long long, unsigned long long threads) {
    Values v(values);
    const auto* in = v.next<const float*>();
    auto* out = v.next<float*>();
    const auto n = v.next<int>();
    return for_each(
        out, n, threads, [=](auto i) { return in[i]; }, in);
}

CUresult count(const unsigned char* values, unsigned long long blocks, unsigned long long) {
    auto* counter = Values(values).next<unsigned long long*>();
    Touching memory;
    if (const CUresult code = reach(memory, counter, 1); code != CUDA_SUCCESS)
        return code;
    memory.run();
    __atomic_fetch_add(counter, blocks, __ATOMIC_RELAXED);
    return CUDA_SUCCESS;
}

CUresult span(const unsigned char* values, unsigned long long, unsigned long long threads) {
    Values v(values);
    const auto* begin = v.next<const float*>();
    const auto* end = v.next<const float*>();
    auto* out = v.next<float*>();
    return for_each(
        out, static_cast<int>(end - begin), threads, [=](auto i) { return begin[i]; }, begin);
}

CUresult sum2(const unsigned char* values, unsigned long long, unsigned long long threads) {
    return copy(values + 8, 0, threads);
}

CUresult twice(const unsigned char* values, unsigned long long, unsigned long long threads) {
    Values v(values);
    const auto* in = v.next<const float*>();
    auto* out = v.next<float*>();
    const auto n = v.next<int>();
    return for_each(
        out, n, threads, [=](auto i) { return 2 * in[i]; }, in);
}

CUresult slow(const unsigned char* values, unsigned long long, unsigned long long) {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::nanoseconds(Values(values).next<unsigned long long>());
    while (std::chrono::steady_clock::now() < end) {
    }
    return CUDA_SUCCESS;
}

CUresult empty(const unsigned char*, unsigned long long, unsigned long long) {
    return CUDA_SUCCESS;
}

constexpr struct {
    const char* name;
    HostKernel run;
} kernels[] = {
    {"kg_fill", fill},   {"kg_add", add},
    {"kg_scale", scale}, {"kg_count", count},
    {"kg_sum2", sum2},   {"kg_copy_struct", copy},
    {"kg_span", span},   {"kg_slow", slow},
    {"kg_empty", empty}, {"_Z8kg_twiceIfEvPKT_PS0_i", twice},
};

}  // namespace

HostKernel host_kernel(const std::string& name) {
    for (const auto& kernel : kernels) {
        if (name == kernel.name)
            return kernel.run;
    }
    return nullptr;
}

}  // namespace keepgraph::sim
