#pragma once

#include <array>
#include <cstddef>

#include "backend/cuda/handles.hpp"
#include "core/arena.hpp"

namespace paragrad::backend::cuda {

/// A ring of pinned host buffers: data to upload is staged there, so that the caller need not wait for the copy, but only,
/// some uploads later, for the buffer that is reused.
class PinnedRing {
 public:
  explicit PinnedRing(int gpu) : gpu_(gpu) {}

  /// Uploads in stream order; `from` may be reused on return.
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
