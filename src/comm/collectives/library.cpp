#include <memory>

#include "comm/allreduce.hpp"

namespace paragrad::comm::collectives {
namespace {

/// A library routine, run entirely in the first half. The library determines steps, bytes and order of additions. Gives the
/// same bits on all workers of one run, but not the bits of the other algorithms or of another transport.
class LibraryAllreduce : public Allreduce {
 public:
  explicit LibraryAllreduce(Library library) : library_(library) {}

  core::Range owned(Communicator&, std::size_t length) const override { return {0, length}; }
  void reduce_scatter(Communicator& comm, std::span<float> data) const override { comm.library_allreduce(library_, data); }
  void all_gather(Communicator&, std::span<float>) const override {}

 private:
  Library library_;
};

}  // namespace

std::unique_ptr<Allreduce> make_library(Library library) { return std::make_unique<LibraryAllreduce>(library); }

}  // namespace paragrad::comm::collectives
