#pragma once

#include <span>

#include "comm/allreduce.hpp"

namespace paragrad::comm::collectives {

/// A library's allreduce, run entirely in the first half. The library determines steps, bytes and order of additions. Gives
/// the same bits on all workers of one run, but not the bits of the other algorithms or of another transport.
class LibraryAllreduce : public Allreduce {
 public:
  explicit LibraryAllreduce(Library library) : library_(library) {}

  core::Range owned(Communicator&, std::size_t length) const override { return {0, length}; }

 private:
  void do_reduce_scatter(Communicator& comm, std::span<float> data) const override {
    comm.library_routine(library_, Operation::allreduce, data, data);
  }
  void do_all_gather(Communicator&, std::span<float>) const override {}

  Library library_;
};

}  // namespace paragrad::comm::collectives
