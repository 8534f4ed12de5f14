#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "backend/gpu_kernels/multiplication.hpp"
#include "backend/gpu_kernels/packed_convolution.hpp"

namespace paragrad::backend::gpu_kernels {

/// A kernel over a grid, ready to launch: `function` belongs to the executor and receives the kernel object.
struct Launch {
  const void* function;
  const char* name;
  std::uint32_t blocks, threads;
  std::vector<std::byte> kernel;

  template <class Kernel>
  static Launch of(const Kernel& kernel, const void* function) {
    static_assert(std::is_trivially_copyable_v<Kernel>);
    const auto* bytes = reinterpret_cast<const std::byte*>(&kernel);
    return {function,
            Kernel::name,
            static_cast<std::uint32_t>(kernel.blocks()),
            Kernel::threads,
            {bytes, bytes + sizeof kernel}};
  }
};

/// Marks around independent branches of calls: `fork`, a `next` between branches, and `join`. Branches may run concurrently.
/// Forks do not nest.
enum class Mark { fork, next, join };

using Call = std::variant<Launch, Multiplication, PackedConvolution, Mark>;

/// A recorded series of calls that is launched as a whole.
class CommandGraph {
 public:
  virtual ~CommandGraph() = default;
  virtual void change(std::size_t call, const Launch& launch) = 0;  ///< arguments of that kernel for the next launch()
  virtual void launch() = 0;
};

/// Executes calls.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void execute(const Call& call) = 0;
  virtual std::unique_ptr<CommandGraph> record(
      std::span<const Call> calls) = 0;  ///< nullptr: the calls must be executed one by one
};

/// Defers calls until submit(), so that a whole series costs the host one launch: a series with the same sequence of kernels
/// as before is launched as a recorded graph, in which only differing arguments are updated (the address of a minibatch, a
/// learning rate).
class CommandQueue {
 public:
  explicit CommandQueue(Executor& executor) : executor_(executor) {}

  /// Submits automatically if the queue becomes too long, outside forks.
  void add(Call call);

  /// Calls branch(i) for each i below count; the calls that different branches add are independent.
  template <class Branch>
  void side_by_side(std::size_t count, const Branch& branch) {
    if (count > 1) add(Mark::fork);
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) add(Mark::next);
      branch(i);
    }
    if (count > 1) add(Mark::join);
  }

  /// Executes the calls added since the last submit(). A series is recorded when it comes for the second time.
  void submit();

 private:
  bool is_met(std::uint64_t key);  ///< whether the key was seen before; it is from now on

  struct Recorded {
    std::vector<Call> calls;  // as last executed
    std::unique_ptr<CommandGraph> recording;
  };

  Executor& executor_;
  std::vector<Call> calls_;
  bool forked_ = false;
  std::uint64_t key_ = 0;                                 // of calls_, without the kernels' arguments
  std::unordered_set<std::uint64_t> met_;                 // keys of all submitted series
  std::unordered_map<std::uint64_t, Recorded> recorded_;  // by key
};

}  // namespace paragrad::backend::gpu_kernels
