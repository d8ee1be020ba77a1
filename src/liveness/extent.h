// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "driver/cuda_types.h"

namespace keepgraph::liveness {

/// The bytes that one side of a copy, or a memset, touches: `depth` slices of `height` rows of `width` bytes. The gaps
/// between them are somebody else's: rows of 100 bytes may lie 2 MB apart.
struct Extent {
    std::uintptr_t first = 0;
    std::size_t width = 0;   ///< bytes; 0: nothing is touched
    std::size_t height = 1;  ///< rows
    std::size_t depth = 1;   ///< slices
    std::size_t row = 0;     ///< bytes from one row to the next
    std::size_t slice = 0;   ///< bytes from one slice to the next

    /// The first byte at or behind `address` that is touched; 0: none is.
    std::uintptr_t next(std::uintptr_t address) const noexcept {
        if (width == 0 || height == 0 || depth == 0)
            return 0;
        if (address <= first)
            return first;
        std::size_t rest = address - first;
        const std::size_t z = slice != 0 ? std::min(rest / slice, depth - 1) : 0;
        rest -= z * slice;
        const std::size_t y = row != 0 ? std::min(rest / row, height - 1) : 0;
        rest -= y * row;
        if (rest < width)
            return address;
        std::uintptr_t start = 0;
        if (row != 0 && y + 1 < height)
            start = first + z * slice + (y + 1) * row;
        else if (slice != 0 && z + 1 < depth)
            start = first + (z + 1) * slice;
        return start > address ? start : 0;  // not when it is behind the end of all addresses
    }
};

/// What is copied from, or to when `destination`; arrays have no address, so nothing.
inline Extent extent_of(const CUDA_MEMCPY3D& copy, bool destination) noexcept {
    const CUmemorytype type = destination ? copy.dstMemoryType : copy.srcMemoryType;
    if (type == CU_MEMORYTYPE_ARRAY)
        return {};
    const void* const host = destination ? copy.dstHost : copy.srcHost;
    const CUdeviceptr device = destination ? copy.dstDevice : copy.srcDevice;
    const std::size_t row = destination ? copy.dstPitch : copy.srcPitch;
    const std::size_t rows = destination ? copy.dstHeight : copy.srcHeight;
    Extent extent;
    extent.width = copy.WidthInBytes;
    extent.height = copy.Height;
    extent.depth = copy.Depth;
    extent.row = row;
    extent.slice = row * (rows != 0 ? rows : copy.Height);
    extent.first = type == CU_MEMORYTYPE_HOST ? reinterpret_cast<std::uintptr_t>(host) : device;
    extent.first += destination ? copy.dstZ * extent.slice + copy.dstY * row + copy.dstXInBytes
                                : copy.srcZ * extent.slice + copy.srcY * row + copy.srcXInBytes;
    return extent;
}

inline Extent extent_of(const CUDA_MEMSET_NODE_PARAMS& set) noexcept {
    return {set.dst, set.width * set.elementSize, set.height, 1, set.pitch, 0};
}

}  // namespace keepgraph::liveness
