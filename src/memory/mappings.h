// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace keepgraph::memory {

// What cuMemMap put into reserved addresses. The driver gives each mapping a BUFFER_ID of its own, but names the whole
// reservation as its range: without this table all mappings in a reservation would be taken for the first one that was
// met. Programs with such reservations: PyTorch's expandable segments.
// Of the whole process, since the driver's addresses are. Any thread; a lock of its own, and nothing is called under
// it.

/// May throw std::bad_alloc.
void note_mapped(std::uintptr_t base, std::size_t size);
/// Every mapping that begins in [base, base + size) is gone.
void note_unmapped(std::uintptr_t base, std::size_t size) noexcept;
/// False: no mapping that was noted holds `address`.
bool find_mapping(std::uintptr_t address, std::uintptr_t& base, std::size_t& size) noexcept;

}  // namespace keepgraph::memory
