// SPDX-License-Identifier: Apache-2.0
// CASES F2: look-ups that are none of a shim's business, and those that are, keep their scope, results and error text.
//   dlsym_probe FOLDER      the folder of libdlsym_near.so and libdlsym_far.so
// Both libraries export cuSomethingElse and cudnnCreate. The near one's look their own names up: in the far library by
// handle, and with RTLD_NEXT. A hook that answers such names from the wrong place recurses or crosses the two.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

// The text has addresses of nothing and paths of something: only the part after the last ": " is compared.
void show_error(const char* what) {
    const char* text = dlerror();
    const char* tail = text != nullptr ? std::strrchr(text, ':') : nullptr;
    std::printf("%s: %s\n", what, text == nullptr ? "no error" : tail != nullptr ? tail + 2 : text);
}

void call(const char* what, void* symbol) {
    std::printf("%s: %d\n", what, symbol != nullptr ? reinterpret_cast<int (*)()>(symbol)() : -1);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string folder = argc > 1 ? argv[1] : ".";
    void* near = dlopen((folder + "/libdlsym_near.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    void* far = dlopen((folder + "/libdlsym_far.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (near == nullptr || far == nullptr) {
        std::printf("the libraries are not in the folder\n");
        return 3;
    }
    for (const char* name : {"cuSomethingElse", "cudnnCreate"}) {
        call("near", dlsym(near, name));  // asks the far one by handle: 100 + 2
        call("far", dlsym(far, name));
    }
    call("near, next in its scope", dlsym(near, "ask_next"));
    call("near, default scope", dlsym(near, "ask_default"));

    // error text: a failing look-up's text is there for the caller once, and a good look-up takes it away
    dlerror();
    dlsym(near, "no_such_name");
    show_error("no_such_name");
    show_error("asked twice");
    dlsym(near, "cuMemNoSuch_v2");
    dlsym(near, "cudnnCreate");
    show_error("after a success");
    dlsym(RTLD_DEFAULT, "cudnnCreate");
    show_error("local names are not in the default scope");
    void* versioned = dlvsym(RTLD_DEFAULT, "dlsym", "NO_SUCH_VERSION");
    std::printf("dlvsym: %s\n", versioned != nullptr ? "found" : "null");
    show_error("dlvsym");

    // handles: the C library's own symbols by each way
    void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    std::printf("strlen: default %s, next %s\n",
                dlsym(RTLD_DEFAULT, "strlen") == dlsym(libc, "strlen") ? "same" : "other",
                dlsym(RTLD_NEXT, "strlen") == dlsym(libc, "strlen") ? "same" : "other");
    // the driver's names without a driver in the process: no look-up may load one
    void* self = dlopen(nullptr, RTLD_NOW);
    std::printf("cuInit in the program: %s\n", dlsym(self, "cuNothing") != nullptr ? "found" : "null");
    std::printf("libcuda in the process: %s\n",
                dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) != nullptr ? "yes" : "no");
    dlclose(near);
    dlclose(far);
    return 0;
}
