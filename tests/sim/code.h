// SPDX-License-Identifier: Apache-2.0
// Modules, libraries, and the functions in them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "objects.h"

namespace keepgraph::sim {

struct Context;
struct Module;
struct Library;

struct Parameter {
    std::string name;
    size_t offset = 0;
    size_t size = 0;
};

/// What a kernel does on the host. values: its parameters, laid out as in the PTX text. Blocks of the grid: blocks.
using HostKernel = CUresult (*)(const unsigned char* values, unsigned long long blocks, unsigned long long threads);

/// A kernel's name, parameter layout and deed. Shared with the nodes that run it.
struct Code {
    std::string name;
    std::vector<Parameter> parameters;
    size_t parameter_bytes = 0;
    HostKernel run = nullptr;
};

struct Kernel;

struct CodeFunction : Object<Kind::function> {
    std::shared_ptr<const Code> code;
    Module* module = nullptr;
    Kernel* kernel = nullptr;  // the context-independent kernel it was had from
};

struct Kernel : Object<Kind::kernel> {
    std::shared_ptr<const Code> code;
    Library* library = nullptr;
    CodeFunction* function = nullptr;
};

struct Module : Object<Kind::module> {
    const Context* context = nullptr;  // null: of a library, which belongs to no context
    std::vector<CodeFunction*> functions;
};

struct Library : Object<Kind::library> {
    std::vector<Kernel*> kernels;
    Module* module = nullptr;
};

/// The entries of a PTX text; empty when it has none or is no PTX.
std::vector<std::shared_ptr<const Code>> parse_ptx(const std::string& text);
void forget_modules_of(const Context* context);
HostKernel host_kernel(const std::string& name);  // null: loads, but cannot be run

}  // namespace keepgraph::sim
