#pragma once

#include <array>
#include <cstddef>

#include "backend/cuda/handles.hpp"
#include "core/arena.hpp"

namespace paragrad::backend::cuda {

/// Host memory that a GPU fetches from by itself, in turns: what is to be copied is put there, so that the caller need not
/// wait for the copy, but only, some uploads later, for the one whose turn has come again.
class PinnedRing {
 public:
  explicit PinnedRing(int gpu) : gpu_(gpu) {}

  /// In the stream's order; `from` is not needed any more on return.
  void upload(std::size_t bytes, const std::byte* from, std::byte* to, cudaStream_t stream);

 private:
  struct Slot {
    core::Arena memory;
    Event copied;
  };

  int gpu_;
  std::array<Slot, 8> slots_;
  std::size_t turn_ = 0;
};

}  // namespace paragrad::backend::cuda
