// CUDA's runtime functions, except graphs.
#include <cstring>

#include "tests/gpu/fake_cuda/gpu.hpp"

using namespace paragrad::fake_cuda;

namespace paragrad::fake_cuda {
namespace {

thread_local int chosen_gpu = 0;
thread_local cudaStream_t recording = nullptr;

CUstream_st& legacy_stream() {
  static auto* const of_process = Machine::get().made(std::make_unique<CUstream_st>(CUstream_st{0}));
  return *of_process;
}

cudaStream_t stream_of(cudaStream_t stream) { return stream == nullptr ? &legacy_stream() : stream; }

/// A copy of what the host may write to as soon as the call has returned.
std::function<void()> copy_of_content(void* to, const void* from, std::size_t bytes) {
  const auto* const first = static_cast<const std::byte*>(from);
  return [to, content = std::vector<std::byte>(first, first + bytes)] { std::memcpy(to, content.data(), content.size()); };
}

}  // namespace

int current_gpu() { return chosen_gpu; }

bool spoils_capture() {
  if (recording == nullptr) return false;
  recording->is_spoiled = true;
  return true;
}

}  // namespace paragrad::fake_cuda

extern "C" {

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorLaunchOutOfResources:
      return "too many resources requested for launch";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated:
      return "operation failed due to a previous error during capture";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    default:
      return "an error of the fake GPU";
  }
}

cudaError_t cudaGetLastError() { return cudaSuccess; }

cudaError_t cudaGetDeviceCount(int* count) {
  const Lock lock(Machine::get().mutex);
  *count = Machine::get().settings.gpus;
  return *count < 0 ? cudaErrorInsufficientDriver : *count == 0 ? cudaErrorNoDevice : cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  const Lock lock(Machine::get().mutex);
  *properties = {};
  std::strncpy(properties->name, "a fake GPU on the host", sizeof properties->name - 1);
  properties->totalGlobalMem = Machine::get().settings.bytes;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int gpu) {
  const Lock lock(Machine::get().mutex);
  if (gpu < 0 || gpu >= Machine::get().settings.gpus) return cudaErrorInvalidDevice;
  chosen_gpu = gpu;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const Lock lock(Machine::get().mutex);
  *total = Machine::get().settings.bytes;
  *free = Machine::get().free_bytes(chosen_gpu);
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  const Lock lock(Machine::get().mutex);
  return spoils_capture() ? cudaErrorStreamCaptureUnsupported : Machine::get().allocate(bytes, memory);
}

cudaError_t cudaFree(void* memory) {
  const Lock lock(Machine::get().mutex);
  return spoils_capture() ? cudaErrorStreamCaptureUnsupported : Machine::get().free(memory);
}

cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  const Lock lock(Machine::get().mutex);
  return spoils_capture() ? cudaErrorStreamCaptureUnsupported : Machine::get().pin(bytes, memory);
}

cudaError_t cudaFreeHost(void* memory) {
  const Lock lock(Machine::get().mutex);
  return spoils_capture() ? cudaErrorStreamCaptureUnsupported : Machine::get().unpin(memory);
}

cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
  const Lock lock(Machine::get().mutex);
  if (spoils_capture()) return cudaErrorStreamCaptureUnsupported;
  if (!Machine::get().is_of_gpu(memory, bytes)) return cudaErrorInvalidValue;
  Machine::get().enqueue(&legacy_stream(), {[=] { std::memset(memory, value, bytes); }});
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  Machine& machine = Machine::get();
  const Lock lock(machine.mutex);
  if (spoils_capture()) return cudaErrorStreamCaptureUnsupported;
  const bool to_gpu = machine.is_of_gpu(to, bytes), from_gpu = machine.is_of_gpu(from, bytes);
  if (machine.is_of_gpu(to) != to_gpu || machine.is_of_gpu(from) != from_gpu) return cudaErrorInvalidValue;
  if (kind == cudaMemcpyHostToDevice && (!to_gpu || from_gpu)) return cudaErrorInvalidValue;
  const auto copy = [=] { std::memmove(to, from, bytes); };
  const bool reads_pageable = !from_gpu && !machine.is_pinned(from, bytes);
  machine.enqueue(stream_of(stream), {reads_pageable && to_gpu ? copy_of_content(to, from, bytes) : copy});
  const bool writes_pageable = !to_gpu && !machine.is_pinned(to, bytes);
  if (writes_pageable || (reads_pageable && !to_gpu)) machine.finish(stream_of(stream));
  return machine.fault;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const Lock lock(Machine::get().mutex);
  *stream = Machine::get().made(std::make_unique<CUstream_st>(CUstream_st{chosen_gpu}));
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Lock lock(Machine::get().mutex);
  Machine::get().forget(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const Lock lock(Machine::get().mutex);
  if (spoils_capture()) return cudaErrorStreamCaptureUnsupported;
  Machine::get().finish(stream_of(stream));
  return Machine::get().fault;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Lock lock(Machine::get().mutex);
  if (stream->gpu != chosen_gpu) return cudaErrorInvalidResourceHandle;
  if (!event->mark) return cudaSuccess;
  Work wait{[mark = event->mark] { Machine::get().reach(*mark); }};
  wait.is_ready = [mark = event->mark] {
    Machine::get().try_to_reach(*mark);
    return mark->passed;
  };
  Machine::get().enqueue(stream, std::move(wait));
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  const Lock lock(Machine::get().mutex);
  Machine::get().contexts.insert(chosen_gpu);
  *event = new CUevent_st{chosen_gpu};
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const Lock lock(Machine::get().mutex);
  if (event->gpu != stream_of(stream)->gpu) return cudaErrorInvalidResourceHandle;
  event->mark = std::make_shared<Mark>(Mark{stream_of(stream)});
  Machine::get().enqueue(stream_of(stream), {[mark = event->mark] { mark->passed = true; }});
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Lock lock(Machine::get().mutex);
  if (spoils_capture()) return cudaErrorStreamCaptureUnsupported;
  if (event->mark) Machine::get().reach(*event->mark);
  return Machine::get().fault;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const Lock lock(Machine::get().mutex);
  if (event->mark && !event->mark->passed) {
    Machine::get().try_to_reach(*event->mark);  // so that polling eventually succeeds
    return cudaErrorNotReady;
  }
  return Machine::get().fault;
}

cudaError_t cudaLaunchKernel(const void* function, dim3 blocks, dim3 threads, void** parameters, std::size_t,
                             cudaStream_t stream) {
  const Lock lock(Machine::get().mutex);
  if (stream->gpu != chosen_gpu) return cudaErrorInvalidResourceHandle;
  Work work;
  if (const cudaError_t error = make_work(function, blocks, threads, parameters, work); error != cudaSuccess) return error;
  Machine::get().enqueue(stream, std::move(work));
  if (paragrad::backend::cuda::launches_block()) Machine::get().finish(stream);
  return Machine::get().fault;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  const Lock lock(Machine::get().mutex);
  if (recording != nullptr || stream->capture) return cudaErrorIllegalState;
  recording = stream;
  stream->capture = std::make_unique<CUgraph_st>();
  stream->is_spoiled = false;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const Lock lock(Machine::get().mutex);
  if (recording != stream) return cudaErrorStreamCaptureWrongThread;
  recording = nullptr;
  const std::unique_ptr<CUgraph_st> captured = std::move(stream->capture);
  *graph = nullptr;
  if (stream->is_spoiled) return cudaErrorStreamCaptureInvalidated;
  *graph = new CUgraph_st(std::move(*captured));
  return cudaSuccess;
}

}  // extern "C"
