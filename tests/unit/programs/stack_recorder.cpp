// SPDX-License-Identifier: Apache-2.0
// Prints where the calls of stack_functions.cpp return to, and the modules as the shim records them:
//     module BASE END BUILD_ID PATH        call ADDRESS LINE FUNCTION
// The functions are part of the program, or of the library named on the command line.
#include <dlfcn.h>

#include <cstdio>

#include "stack_functions.h"
#include "trace/module_map.h"

#ifdef FUNCTIONS_IN_LIBRARY
static decltype(&collect_calls) find_functions(const char* library) {
    void* handle = dlopen(library, RTLD_NOW);
    return handle == nullptr ? nullptr : reinterpret_cast<decltype(&collect_calls)>(dlsym(handle, "collect_calls"));
}
#else
static decltype(&collect_calls) find_functions(const char*) {
    return &collect_calls;
}
#endif

int main(int argc, char** argv) {
    const auto collect = find_functions(argc > 1 ? argv[1] : nullptr);
    if (collect == nullptr)
        return 1;
    std::vector<SeenCall> calls;
    collect(calls);
    keepgraph::trace::ModuleMap map;
    for (const auto& module : map.refresh())
        std::printf("module 0x%lx 0x%lx %s %s\n", module.base, module.end,
                    module.build_id.empty() ? "-" : module.build_id.c_str(), module.path.c_str());
    for (const SeenCall& call : calls)
        std::printf("call %p %d %s\n", call.return_address, call.line, call.function);
}
