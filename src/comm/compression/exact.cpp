#include "comm/allreduce.hpp"
#include "comm/compression/entry.hpp"

namespace paragrad::comm::compression {
namespace {

/// No compression: an exact allreduce.
class Exact : public GradientSum {
 public:
  explicit Exact(const CollectiveOptions& options)
      : collective_(options.collective), allreduce_(make_allreduce(collective_)) {}

  void operator()(Communicator& comm, core::Range bucket, std::span<float> gradient) override {
    (*allreduce_)(comm, bucket.of(gradient));
  }

  std::string explain(const Communicator& comm, std::size_t length) const override {
    return explain_collective(collective_, *allreduce_, comm, length);
  }

 private:
  std::string collective_;
  std::unique_ptr<Allreduce> allreduce_;
};

}  // namespace

Entry none_entry() {
  return {{.name = "none", .summary = "uncompressed gradients", .options = core::options_of<CollectiveOptions>()},
          [](std::string_view, const core::Settings& settings, std::uint64_t) {
            return std::make_unique<Exact>(core::read_options<CollectiveOptions>(settings));
          }};
}

}  // namespace paragrad::comm::compression
