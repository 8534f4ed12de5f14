#include "comm/allreduce.hpp"
#include "comm/compression/makers.hpp"

namespace paragrad::comm::compression {
namespace {

/// No compression: an exact allreduce.
class Exact : public GradientSum {
 public:
  explicit Exact(const std::string& collective) : allreduce_(make_allreduce(collective)) {}

  void operator()(Communicator& comm, core::Range bucket, std::span<float> gradient) override {
    (*allreduce_)(comm, bucket.of(gradient));
  }

 private:
  std::unique_ptr<Allreduce> allreduce_;
};

}  // namespace

std::unique_ptr<GradientSum> make_none(std::string_view, const CompressionOptions& options) {
  return std::make_unique<Exact>(options.collective);
}

}  // namespace paragrad::comm::compression
