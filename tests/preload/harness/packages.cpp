// SPDX-License-Identifier: Apache-2.0
#include "packages.h"

#include <filesystem>

#include "on_double.h"

namespace keepgraph::preload_tests::packages {

namespace fs = std::filesystem;

std::string module(const std::string& name) {
    return "lib/python3.11/site-packages/" + name + "/module.so";
}

std::string host(const std::string& name) {
    return "lib/python3.11/" + name;
}

Layout::Layout(bool conda) {
    const auto put = [&](const std::string& from, const std::string& to) {
        fs::create_directories(fs::path(folder / to).parent_path());
        fs::copy_file(from, folder / to);
    };
    const std::string built = double_folder() + "/cudart/";
    put(built + "libcudart.so.12", cudart12);
    put(built + "libcudart.so.13", cudart13);
    put(built + "older/libcudart.so.12", cudart_of_torch);
    put(built + "older/libcudart-5e0c1a7b.so.12.1.105", cudart_renamed);
    if (conda) {
        put(built + "older/libcudart.so.12", "lib/libcudart.so.12.4.127");
        fs::create_symlink("libcudart.so.12.4.127", folder / cudart_of_conda);
    }
    const std::string programs = build_folder() + "/tests/preload/runtimes/";
    for (const char* name : {"wheel12", "wheel13", "renamed", "conda12"}) {
        put(programs + "libmodule_" + name + ".so", module(name));
        fs::permissions(folder / module(name), fs::perms(0644));  // as packages install them
    }
    for (const char* name : {"host", "host_renamed", "host_both"})
        put(programs + name, host(name));
    fs::create_directory(driver());
    fs::create_symlink(double_folder() + "/libcuda.so.1", driver() + "/libcuda.so.1");
}

}  // namespace keepgraph::preload_tests::packages
