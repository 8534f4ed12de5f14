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

namespace paragrad::backend::gpu_kernels {

/// A kernel over a grid, ready to go: `function` is the executor's, which is given the kernel's object.
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

/// Around calls that have nothing to do with each other: what stands between `fork` and `next`, or two of these, or `next`
/// and `join`, may be made beside the others. Forks do not lie in each other.
enum class Mark { fork, next, join };

using Call = std::variant<Launch, Multiplication, Mark>;

/// Some calls that a GPU can be given as a whole.
class CommandGraph {
 public:
  virtual ~CommandGraph() = default;
  virtual void change(std::size_t call, const Launch& launch) = 0;  ///< of the next launch(): what that kernel is given
  virtual void launch() = 0;
};

/// What makes calls happen.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void execute(const Call& call) = 0;
  virtual std::unique_ptr<CommandGraph> record(
      std::span<const Call> calls) = 0;  ///< nothing: they must be executed one by one
};

/// Puts calls off until they are wanted, so that they cost the host one call: those that came in the same order before, on
/// the same memory or nearly so, are launched as a recorded graph, in which what their kernels are given is changed where it
/// differs (where a minibatch lies, a learning rate).
class CommandQueue {
 public:
  explicit CommandQueue(Executor& executor) : executor_(executor) {}

  /// Submits by itself what has become too long, outside of forks.
  void add(Call call);

  /// Calls branch(i) for each i below count: what is added there for one has nothing to do with what is added for others.
  template <class Branch>
  void side_by_side(std::size_t count, const Branch& branch) {
    if (count > 1) add(Mark::fork);
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) add(Mark::next);
      branch(i);
    }
    if (count > 1) add(Mark::join);
  }

  /// Makes the calls that were added since the last time. When a series of them comes the second time, it is recorded.
  void submit();

 private:
  bool is_met(std::uint64_t key);  ///< before; from now on it is

  struct Recorded {
    std::vector<Call> calls;  // as they were made last
    std::unique_ptr<CommandGraph> recording;
  };

  Executor& executor_;
  std::vector<Call> calls_;
  bool forked_ = false;
  std::uint64_t key_ = 0;                                 // of calls_, but for what kernels are given
  std::unordered_set<std::uint64_t> met_;                 // keys of what was submitted
  std::unordered_map<std::uint64_t, Recorded> recorded_;  // by key
};

}  // namespace paragrad::backend::gpu_kernels
