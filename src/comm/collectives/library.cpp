#include <memory>

#include "comm/collectives/catalogue.hpp"

namespace paragrad::comm::collectives {
namespace {

/// A library routine, run entirely in the first half. The library determines steps, bytes and order of additions. Gives the
/// same bits on all workers of one run, but not the bits of the other algorithms or of another transport.
class LibraryAllreduce : public Allreduce {
 public:
  explicit LibraryAllreduce(Library library) : library_(library) {}

  core::Range owned(Communicator&, std::size_t length) const override { return {0, length}; }

 private:
  void do_reduce_scatter(Communicator& comm, std::span<float> data) const override {
    comm.library_allreduce(library_, data);
  }
  void do_all_gather(Communicator&, std::span<float>) const override {}

  Library library_;
};

}  // namespace

Entry native_entry() {
  return {.info = {.name = "native",
                   .summary = "the transport's own routine, such as MPI_Allreduce, with its own order of additions"},
          .allreduce = [](std::string_view) { return std::make_unique<LibraryAllreduce>(Library::transport); },
          .library = Library::transport};
}

Entry nccl_entry() {
  return {.info = {.name = "nccl", .summary = "NCCL, between ranks with one GPU each, with its own order of additions"},
          .allreduce = [](std::string_view) { return std::make_unique<LibraryAllreduce>(Library::device); },
          .library = Library::device};
}

}  // namespace paragrad::comm::collectives
