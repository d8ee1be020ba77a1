// SPDX-License-Identifier: Apache-2.0
//
// The few GPU operations that the test programs need, over one of three ways to reach the driver, so that one source
// gives programs that differ in nothing else:
//   KG_OVER_RUNTIME   cudart, shared or static: the link line decides
//   KG_OVER_DRIVER    libcuda by dlopen and dlsym
//   KG_OVER_LINKED    libcuda as a needed library
// Every function returns the API's own code; runtime and driver use the same numbers. With
// CUDA_API_PER_THREAD_DEFAULT_STREAM the headers turn the names into their _ptsz and _ptds forms.
#pragma once

#include <cstddef>
#include <cstdint>

struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct CUgraphNode_st;

namespace gpu {

using Stream = CUstream_st*;
using Event = CUevent_st*;
using Graph = CUgraph_st*;
using Exec = CUgraphExec_st*;
using Node = CUgraphNode_st*;
using Kernel = void*;
using HostFunction = void (*)(void*);

enum Mode { global, thread_local_, relaxed };
enum Kind { host_to_device, device_to_host, device_to_device };
enum StreamKind { blocking, non_blocking };

// First CUDA call of a thread: driver up, primary context current.
int init();
// Loads kernels.h once and finds one kernel; null when there is none of that name.
Kernel kernel(const char* name);

int malloc(void** pointer, std::size_t size);
int free(void* pointer);
int host_alloc(void** pointer, std::size_t size);
int host_free(void* pointer);
int malloc_async(void** pointer, std::size_t size, Stream stream);
int free_async(void* pointer, Stream stream);
int copy(void* to, const void* from, std::size_t size, Kind kind);
int copy_async(void* to, const void* from, std::size_t size, Kind kind, Stream stream);
int copy_rows_async(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                    std::size_t height, Stream stream);
int memset_async(void* pointer, unsigned char value, std::size_t size, Stream stream);

int stream_create(Stream* stream, StreamKind kind = non_blocking);
int stream_destroy(Stream stream);
int stream_sync(Stream stream);
int stream_wait(Stream stream, Event event, bool external = false);
int event_create(Event* event);
int event_destroy(Event event);
int event_record(Event event, Stream stream, bool external = false);
int device_sync();

int launch(Kernel kernel, unsigned grid, unsigned block, void** arguments, Stream stream);
int host_function(Stream stream, HostFunction function, void* data);

int begin_capture(Stream stream, Mode mode);
int end_capture(Stream stream, Graph* graph);
int is_capturing(Stream stream, int* status);
int exchange_mode(Mode* mode);

int graph_create(Graph* graph);
int add_kernel(Node* node, Graph graph, const Node* after, std::size_t count, Kernel kernel, unsigned grid,
               unsigned block, void** arguments);
int add_copy(Node* node, Graph graph, const Node* after, std::size_t count, void* to, const void* from,
             std::size_t size, Kind kind);
int add_copy_rows(Node* node, Graph graph, const Node* after, std::size_t count, void* to, std::size_t to_pitch,
                  const void* from, std::size_t from_pitch, std::size_t width, std::size_t height);
int add_memset(Node* node, Graph graph, const Node* after, std::size_t count, void* pointer, unsigned char value,
               std::size_t size);
int add_host(Node* node, Graph graph, const Node* after, std::size_t count, HostFunction function, void* data);
int add_event_record(Node* node, Graph graph, const Node* after, std::size_t count, Event event);
int add_event_wait(Node* node, Graph graph, const Node* after, std::size_t count, Event event);
int node_count(Graph graph, std::size_t* count);
int first_node(Graph graph, Node* node);
int dot_print(Graph graph, const char* path);
int graph_destroy(Graph graph);

int instantiate(Exec* exec, Graph graph);
int graph_launch(Exec exec, Stream stream);
int exec_update(Exec exec, Graph graph);
int exec_set_kernel(Exec exec, Node node, Kernel kernel, unsigned grid, unsigned block, void** arguments);
int exec_destroy(Exec exec);

}  // namespace gpu
