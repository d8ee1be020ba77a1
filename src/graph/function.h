// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "driver/cuda_types.h"

namespace keepgraph::graph {

/// A kernel as the driver describes it: name and parameter layout.
struct Function {
    struct Parameter {
        std::uint32_t offset = 0;  ///< bytes from the start of the packed parameters
        std::uint32_t size = 0;    ///< bytes
    };
    std::string mangled;
    std::vector<Parameter> parameters;
    std::uint32_t bytes = 0;  ///< of all parameters, packed
    /// Where an address may stand: on its own or, in a struct passed by value, at an offset that is a multiple of 8.
    struct Word {
        std::uint32_t packed = 0;  ///< bytes from the start of the packed parameters
        std::uint32_t offset = 0;  ///< bytes into the parameter
        std::uint16_t parameter = 0;
        bool in_struct = false;  ///< the parameter has room for more than this word
    };
    std::vector<Word> words;    ///< by parameter and offset; worked out once, since scans walk them for each node
    bool layout_known = false;  ///< false: this driver does not tell where the parameters are

    // Notes of liveness. They live here because every scan asks for them once per word.
    enum class Note : unsigned char { not_asked, no, yes };
    mutable std::atomic<Note> partial_arrays{Note::not_asked};  ///< liveness/partial_arrays.h
    struct Slot {
        std::atomic<bool> held_number{false};  ///< was no address once
        std::atomic<bool> stood_alone{false};  ///< was an address that cannot be the end of another parameter's memory
    };
    mutable std::vector<Slot> slots;  ///< per 4 bytes of the packed parameters

    Function() = default;
    Function(const Function&) = delete;
    Function& operator=(const Function&) = delete;
    ~Function();

    /// Of two parameters, by index. True as well when the name does not tell the types, as that of an `extern "C"`
    /// kernel. Reads the name at the first call. May throw std::bad_alloc. Any thread.
    bool may_have_one_type(std::size_t a, std::size_t b) const;

  private:
    using Types = std::vector<std::string>;
    mutable std::atomic<const Types*> types_{nullptr};  // no mutex: a forked child could inherit it locked
};
/// Lives as long as the Functions it came from, which never lets one go.
using FunctionPtr = const Function*;

/// Functions by handle. Handles come back for other kernels once code was unloaded: forget() then. Kernels of one name
/// and one layout are one Function for the whole process, so that what was learnt of it outlives a module's reload.
/// Any thread.
class Functions {
  public:
    /// Never null. May throw std::bad_alloc. The caller holds a driver::RelaxedCapture.
    FunctionPtr of(const CUDA_KERNEL_NODE_PARAMS& node);
    void forget() noexcept;

  private:
    std::mutex mutex_;
    std::unordered_map<void*, FunctionPtr> by_handle_;
    std::unordered_multimap<std::string, std::unique_ptr<const Function>> by_name_;
};

}  // namespace keepgraph::graph
