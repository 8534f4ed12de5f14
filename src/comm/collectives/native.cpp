#include <memory>

#include "comm/allreduce.hpp"

namespace paragrad::comm::collectives {
namespace {

/// The transport's own routine, all in the first half. Steps, bytes and order of additions are the library's; the same bits
/// on all workers of one run, but not the bits of the other algorithms or of another transport.
class NativeAllreduce : public Allreduce {
 public:
  core::Range owned(Communicator&, std::size_t length) const override { return {0, length}; }
  void reduce(Communicator& comm, std::span<float> data) const override { comm.library_allreduce(data); }
  void gather(Communicator&, std::span<float>) const override {}
};

}  // namespace

std::unique_ptr<Allreduce> make_native() { return std::make_unique<NativeAllreduce>(); }

}  // namespace paragrad::comm::collectives
