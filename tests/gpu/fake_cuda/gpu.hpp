#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "backend/cuda/cuda_check.hpp"

/// Fake GPUs on the host: the parts of CUDA's runtime, of cuBLAS and of cuDNN that the device cuda uses, on memory and cores
/// of this machine, so that the device can run, and fail, without a GPU. A program linked with it has a device cuda whose
/// kernels are the compiled formulas of backend/gpu_kernels.
///
/// It gives no more guarantees than CUDA. Work is done when it is waited for, immediately, or at random; ready nodes of a
/// graph run in any order. GPU memory faults when the host touches it. Calls that CUDA forbids (allocating or waiting during
/// capture, a stream of a GPU other than the thread's) are refused.
namespace paragrad::fake_cuda {

/// When the work of a stream is done. CUDA guarantees only its order, so nothing may depend on this.
enum class Order { late, early, any };

struct Settings {
  int gpus = 1;
  std::size_t bytes = std::size_t{1} << 30;  ///< memory of each GPU
  Order order = Order::late;
  bool has_cudnn = true;
  std::string refused{};   ///< name of a kernel that fails to launch
  std::string faulting{};  ///< name of a kernel that makes an illegal access, reported later
};

/// Parses "gpus=2 megabytes=64 order=any cudnn=no"; settings not named keep their defaults. Throws ConfigError.
Settings parse_settings(const std::string& text, Settings settings = {});

/// The object passed to cudaLaunchKernel as a kernel's function.
struct Kernel {
  const char* name;
  std::size_t bytes;  ///< size of the kernel object
  void (*run)(const std::byte* object, std::uint32_t blocks, bool backwards);
};

/// A unit of work for a GPU.
struct Work {
  std::function<void()> run;
  const void* workspace = nullptr;      ///< memory that no other work may use concurrently
  std::function<bool()> is_ready = {};  ///< whether what other processes contribute is there; empty: yes
};

/// A position in a stream, marked by an event.
struct Mark {
  cudaStream_t stream;
  bool passed = false;
};

/// All GPUs of the process and their shared state. Every CUDA function holds the mutex.
class Machine {
 public:
  std::recursive_mutex mutex;
  Settings settings;         ///< initially from the environment variable PARAGRAD_FAKE_GPU
  std::set<int> contexts{};  ///< GPUs on which objects were created
  std::mt19937 random{1};
  cudaError_t fault = cudaSuccess;  ///< error of an earlier kernel

  static Machine& get();
  void set(const Settings& wanted);  ///< applies new settings and resets all GPUs

  void enqueue(cudaStream_t stream, Work work);  ///< executed according to settings.order
  void finish(cudaStream_t stream);              ///< executes everything in the stream
  void reach(const Mark& mark);                  ///< executes everything before the mark
  void try_to_reach(const Mark& mark);           ///< stops at work that is not ready
  void finish_all();
  cudaStream_t made(std::unique_ptr<CUstream_st> stream);
  void forget(cudaStream_t stream);

  /// Whether the whole range is in memory allocated on a GPU or by cudaMallocHost.
  bool is_of_gpu(const void* address, std::size_t bytes = 0) const { return lies_in(allocations_, address, bytes); }
  bool is_pinned(const void* address, std::size_t bytes = 0) const { return lies_in(pinned_, address, bytes); }
  cudaError_t allocate(std::size_t bytes, void** memory);
  cudaError_t free(void* memory);
  cudaError_t pin(std::size_t bytes, void** memory);
  cudaError_t unpin(void* memory);
  std::size_t free_bytes(int gpu) { return settings.bytes - used_[gpu]; }

  /// While in scope, GPU memory is accessible; at all other times any access faults.
  class Access {
   public:
    explicit Access(Machine& machine);
    ~Access();
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;

   private:
    Machine& machine_;
  };

 private:
  struct Allocation {
    int gpu;
    std::size_t bytes;
  };

  Machine();
  bool step(CUstream_st& stream);
  void now_and_then();
  static bool lies_in(const std::map<const std::byte*, Allocation>& places, const void* address, std::size_t bytes);
  std::byte* find_room(std::size_t bytes) const;

  std::byte* memory_;          // of all GPUs
  std::size_t used_span_ = 0;  // part of it used so far
  int accesses_ = 0;
  std::map<const std::byte*, Allocation> allocations_{}, pinned_{};
  std::map<int, std::size_t> used_{};
  std::vector<std::unique_ptr<CUstream_st>> streams_{};
};

/// A kernel with a copy of its current arguments.
cudaError_t make_work(const void* function, dim3 blocks, dim3 threads, void** parameters, Work& work);

int current_gpu();  ///< of this thread

/// Whether this thread is capturing calls, which forbids the current call; then the capture is invalidated.
bool spoils_capture();

using Lock = std::lock_guard<std::recursive_mutex>;

}  // namespace paragrad::fake_cuda

// Opaque types in CUDA's headers.

struct CUgraphNode_st {
  paragrad::fake_cuda::Work work;
  std::vector<CUgraphNode_st*> before;
  std::shared_ptr<const CUgraph_st> child{};  // instead of work
};

struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
  cudaGraphNode_t add(CUgraphNode_st node) { return nodes.emplace_back(new CUgraphNode_st(std::move(node))).get(); }
};

struct CUstream_st {
  int gpu;
  std::deque<paragrad::fake_cuda::Work> waiting{};
  std::unique_ptr<CUgraph_st> capture{};  // captured calls become a chain of nodes
  bool is_spoiled = false;
};

struct CUevent_st {
  int gpu;
  std::shared_ptr<paragrad::fake_cuda::Mark> mark{};
};
