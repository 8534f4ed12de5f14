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

/// fake GPUs on the host: what the device cuda uses of CUDA's runtime and of cuBLAS, on memory and cores of this machine,
/// so that all of it can run, and go wrong, where there is no GPU. A program linked with it has a device cuda whose kernels
/// are the compiled formulas of backend/gpu_kernels.
///
/// It is as unhelpful as CUDA may be. Nothing happens before somebody waits for it, or everything at once, or now and then;
/// of the nodes of a graph any may be first that has nothing before it. Memory of the GPU faults when the host touches it.
/// What CUDA forbids (allocating or waiting while calls are recorded, a stream of another GPU than the thread's) is refused.
namespace paragrad::fake_cuda {

/// When the work of a stream is done. CUDA promises its order and no more, so nothing may depend on this.
enum class Order { late, early, any };

struct Settings {
  int gpus = 1;
  std::size_t bytes = std::size_t{1} << 30;  ///< of memory, of each
  Order order = Order::late;
  std::string refused{};   ///< the name of a kernel that the GPU does not start
  std::string faulting{};  ///< … that reads where it must not, which is told later
};

/// "gpus=2 megabytes=64 order=any": what is not named stays as it is. Throws ConfigError.
Settings parse_settings(const std::string& text, Settings settings = {});

/// What cudaLaunchKernel is given as a kernel's function.
struct Kernel {
  const char* name;
  std::size_t bytes;  ///< of its object
  void (*run)(const std::byte* object, std::uint32_t blocks, bool backwards);
};

/// Something for a GPU to do.
struct Work {
  std::function<void()> run;
  const void* workspace = nullptr;  ///< memory that nothing else may use meanwhile
};

/// A place in a stream that an event marks.
struct Mark {
  cudaStream_t stream;
  bool passed = false;
};

/// All GPUs of the process and what they share. Every function of CUDA's holds the mutex.
class Machine {
 public:
  std::recursive_mutex mutex;
  Settings settings;         ///< at first what the variable PARAGRAD_FAKE_GPU says
  std::set<int> contexts{};  ///< GPUs that something was made on
  std::mt19937 random{1};
  cudaError_t fault = cudaSuccess;  ///< of a kernel that ran

  static Machine& get();
  void set(const Settings& wanted);  ///< from now on, with nothing made on any of them

  void enqueue(cudaStream_t stream, Work work);  ///< done according to settings.order
  void finish(cudaStream_t stream);              ///< all that is in it
  void reach(const Mark& mark);                  ///< all that is before it
  void finish_all();
  cudaStream_t made(std::unique_ptr<CUstream_st> stream);
  void forget(cudaStream_t stream);

  /// Whether all of it lies in memory that a GPU, or cudaMallocHost, has allocated.
  bool is_of_gpu(const void* address, std::size_t bytes = 0) const { return lies_in(allocations_, address, bytes); }
  bool is_pinned(const void* address, std::size_t bytes = 0) const { return lies_in(pinned_, address, bytes); }
  cudaError_t allocate(std::size_t bytes, void** memory);
  cudaError_t free(void* memory);
  cudaError_t pin(std::size_t bytes, void** memory);
  cudaError_t unpin(void* memory);
  std::size_t free_bytes(int gpu) { return settings.bytes - used_[gpu]; }

  /// While it lives, GPUs may use their memory: nobody else may, ever.
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
  void step(CUstream_st& stream);
  void now_and_then();
  static bool lies_in(const std::map<const std::byte*, Allocation>& places, const void* address, std::size_t bytes);
  std::byte* find_room(std::size_t bytes) const;

  std::byte* memory_;          // of all GPUs
  std::size_t used_span_ = 0;  // of it, so far
  int accesses_ = 0;
  std::map<const std::byte*, Allocation> allocations_{}, pinned_{};
  std::map<int, std::size_t> used_{};
  std::vector<std::unique_ptr<CUstream_st>> streams_{};
};

/// A kernel with what it is given now.
cudaError_t make_work(const void* function, dim3 blocks, dim3 threads, void** parameters, Work& work);

int current_gpu();  ///< of this thread

/// Whether this thread records calls, which forbids much; then the recording is spoiled.
bool spoils_capture();

using Lock = std::lock_guard<std::recursive_mutex>;

}  // namespace paragrad::fake_cuda

// CUDA's headers leave these open.

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
  std::deque<std::function<void()>> waiting{};
  std::unique_ptr<CUgraph_st> capture{};  // what is called meanwhile becomes nodes, one after the other
  bool is_spoiled = false;
};

struct CUevent_st {
  int gpu;
  std::shared_ptr<paragrad::fake_cuda::Mark> mark{};
};
