// SPDX-License-Identifier: Apache-2.0
// Loading and unloading code, and asking about it.
#include "code.h"

#include <cstring>

#include "capture.h"
#include "context.h"
#include "function.h"

using namespace keepgraph::sim;

namespace {

using Codes = std::vector<std::shared_ptr<const Code>>;

CUresult load(const void* image, Codes* codes) {
    if (image == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    // Only PTX text can be read: a cubin needs a GPU.
    const std::string text(static_cast<const char*>(image));
    if (text.find(".version") == std::string::npos)
        return CUDA_ERROR_INVALID_IMAGE;
    *codes = parse_ptx(text);
    return CUDA_SUCCESS;
}

Module* make_module(const Codes& codes) {
    auto* module = pool<Module>().take();
    for (const auto& code : codes) {
        auto* function = pool<CodeFunction>().take();
        function->code = code;
        function->module = module;
        module->functions.push_back(function);
    }
    return module;
}

void destroy(Module* module) {
    for (CodeFunction* function : module->functions)
        pool<CodeFunction>().give(function);
    pool<Module>().give(module);
}

CUresult load_module(CUmodule* out, const void* image) {
    if (out == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    SIM_CONTEXT(context);
    Codes codes;
    if (const CUresult code = load(image, &codes); code != CUDA_SUCCESS)
        return code;
    const Locked lock;
    Module* const module = make_module(codes);
    module->context = context;
    *out = handle_of<CUmodule>(module);
    return CUDA_SUCCESS;
}

/// A CUkernel may stand wherever a CUfunction does.
const Code* code_of(CUfunction handle) {
    if (const auto* function = find<CodeFunction>(handle))
        return function->code.get();
    const auto* kernel = find<Kernel>(handle);
    return kernel != nullptr ? kernel->code.get() : nullptr;
}

CUresult parameter(const Code* code, size_t index, size_t* offset, size_t* size) {
    if (code == nullptr || offset == nullptr || index >= code->parameters.size())
        return CUDA_ERROR_INVALID_VALUE;
    *offset = code->parameters[index].offset;
    if (size != nullptr)
        *size = code->parameters[index].size;
    return CUDA_SUCCESS;
}

CUresult attribute(int* out, CUfunction_attribute attribute, const Code* code) {
    if (code == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (out == nullptr || attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    *out = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
    if (attribute == CU_FUNC_ATTRIBUTE_PTX_VERSION || attribute == CU_FUNC_ATTRIBUTE_BINARY_VERSION)
        *out = 90;
    return CUDA_SUCCESS;
}

}  // namespace

void keepgraph::sim::forget_modules_of(const Context* context) {
    pool<Module>().for_each([&](Module* module) {
        if (module->context == context)
            destroy(module);
    });
}

SIM_EXPORT CUresult cuModuleLoadData(CUmodule* module, const void* image) {
    SIM_ENTER(cuModuleLoadData);
    return load_module(module, image);
}

SIM_EXPORT CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int, CUjit_option*, void**) {
    SIM_ENTER(cuModuleLoadDataEx);
    return load_module(module, image);
}

SIM_EXPORT CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
    SIM_ENTER(cuModuleLoadFatBinary);
    return load_module(module, image);
}

SIM_EXPORT CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
    SIM_ENTER(cuModuleGetLoadingMode);
    if (mode == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuModuleGetFunction(CUfunction* out, CUmodule handle, const char* name) {
    SIM_ENTER(cuModuleGetFunction);
    if (out == nullptr || name == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    const Locked lock;
    const auto* module = find<Module>(handle);
    if (module == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    for (CodeFunction* function : module->functions) {
        if (function->code->name == name) {
            *out = handle_of<CUfunction>(function);
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_NOT_FOUND;
}

SIM_EXPORT CUresult cuModuleUnload(CUmodule handle) {
    SIM_ENTER(cuModuleUnload);
    const Locked lock;
    auto* module = find<Module>(handle);
    if (module == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult code = unsafe_call(); code != CUDA_SUCCESS)
        return code;
    destroy(module);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuLibraryLoadData(CUlibrary* out, const void* image, CUjit_option*, void**, unsigned int,
                                      CUlibraryOption*, void**, unsigned int) {
    SIM_ENTER(cuLibraryLoadData);
    if (out == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    Codes codes;
    if (const CUresult code = load(image, &codes); code != CUDA_SUCCESS)
        return code;
    const Locked lock;
    auto* library = pool<Library>().take();
    library->module = make_module(codes);
    for (CodeFunction* function : library->module->functions) {
        auto* kernel = pool<Kernel>().take();
        kernel->code = function->code;
        kernel->library = library;
        kernel->function = function;
        function->kernel = kernel;
        library->kernels.push_back(kernel);
    }
    *out = handle_of<CUlibrary>(library);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuLibraryUnload(CUlibrary handle) {
    SIM_ENTER(cuLibraryUnload);
    const Locked lock;
    auto* library = find<Library>(handle);
    if (library == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult code = unsafe_call(); code != CUDA_SUCCESS)
        return code;
    for (Kernel* kernel : library->kernels)
        pool<Kernel>().give(kernel);
    destroy(library->module);
    pool<Library>().give(library);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuLibraryGetKernel(CUkernel* out, CUlibrary handle, const char* name) {
    SIM_ENTER(cuLibraryGetKernel);
    if (out == nullptr || name == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    const Locked lock;
    const auto* library = find<Library>(handle);
    if (library == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    for (Kernel* kernel : library->kernels) {
        if (kernel->code->name == name) {
            *out = handle_of<CUkernel>(kernel);
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_NOT_FOUND;
}

SIM_EXPORT CUresult cuLibraryGetKernelCount(unsigned int* count, CUlibrary handle) {
    SIM_ENTER(cuLibraryGetKernelCount);
    const Locked lock;
    const auto* library = find<Library>(handle);
    if (library == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (count == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<unsigned>(library->kernels.size());
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuLibraryGetModule(CUmodule* out, CUlibrary handle) {
    SIM_ENTER(cuLibraryGetModule);
    const Locked lock;
    const auto* library = find<Library>(handle);
    if (library == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (out == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *out = handle_of<CUmodule>(library->module);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuKernelGetFunction(CUfunction* out, CUkernel handle) {
    SIM_ENTER(cuKernelGetFunction);
    SIM_CONTEXT(context);
    (void)context;
    const Locked lock;
    const auto* kernel = find<Kernel>(handle);
    if (kernel == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (out == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *out = handle_of<CUfunction>(kernel->function);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuKernelGetLibrary(CUlibrary* out, CUkernel handle) {
    SIM_ENTER(cuKernelGetLibrary);
    const Locked lock;
    const auto* kernel = find<Kernel>(handle);
    if (kernel == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (out == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *out = handle_of<CUlibrary>(kernel->library);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuFuncGetName(const char** name, CUfunction handle) {
    SIM_ENTER(cuFuncGetName);
    const Locked lock;
    const Code* code = code_of(handle);
    if (code == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (name == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *name = code->name.c_str();
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuKernelGetName(const char** name, CUkernel handle) {
    SIM_ENTER(cuKernelGetName);
    const Locked lock;
    const auto* kernel = find<Kernel>(handle);
    if (kernel == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (name == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *name = kernel->code->name.c_str();
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuFuncGetModule(CUmodule* out, CUfunction handle) {
    SIM_ENTER(cuFuncGetModule);
    const Locked lock;
    const auto* function = find<CodeFunction>(handle);
    if (function == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (out == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *out = handle_of<CUmodule>(function->module);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t* offset, size_t* size) {
    SIM_ENTER(cuFuncGetParamInfo);
    const Locked lock;
    return parameter(code_of(handle), index, offset, size);
}

SIM_EXPORT CUresult cuKernelGetParamInfo(CUkernel handle, size_t index, size_t* offset, size_t* size) {
    SIM_ENTER(cuKernelGetParamInfo);
    const Locked lock;
    const auto* kernel = find<Kernel>(handle);
    return parameter(kernel != nullptr ? kernel->code.get() : nullptr, index, offset, size);
}

SIM_EXPORT CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction handle) {
    SIM_ENTER(cuFuncGetAttribute);
    const Locked lock;
    return attribute(value, which, code_of(handle));
}

SIM_EXPORT CUresult cuKernelGetAttribute(int* value, CUfunction_attribute which, CUkernel handle, CUdevice) {
    SIM_ENTER(cuKernelGetAttribute);
    const Locked lock;
    const auto* kernel = find<Kernel>(handle);
    return attribute(value, which, kernel != nullptr ? kernel->code.get() : nullptr);
}

SIM_EXPORT CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute, int) {
    SIM_ENTER(cuFuncSetAttribute);
    const Locked lock;
    return code_of(handle) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

SIM_EXPORT CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache) {
    SIM_ENTER(cuFuncSetCacheConfig);
    const Locked lock;
    return code_of(handle) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
