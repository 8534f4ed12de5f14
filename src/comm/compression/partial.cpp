#include <algorithm>

#include "backend/kernels/add.hpp"
#include "backend/kernels/copy.hpp"
#include "backend/kernels/fill.hpp"
#include "comm/allreduce.hpp"
#include "comm/compression/entry.hpp"
#include "core/arena.hpp"

namespace paragrad::comm::compression {
namespace {

/// Partial gradient exchange (Ako: Watcharapichat, Morales, Fernandez and Pietzuch, SoCC 2016): of a gradient cut into P
/// parts one is summed in each step, in turn, with everything that has been kept back of it since its last turn. The others
/// are kept, which is an error feedback that never drops anything.
///
/// Bytes     those of an allreduce of 1/P of the gradient.
/// Order     the allreduce's.
class Partial : public GradientSum {
 public:
  Partial(std::size_t parts, const std::string& collective) : parts_(parts), allreduce_(make_allreduce(collective)) {}

  void start(Communicator& comm, std::span<const core::Matrix>, std::span<const core::Range> buckets) override {
    std::size_t length = 0;
    for (const core::Range bucket : buckets) length = std::max(length, bucket.end);
    residual_ = comm.device().allocate(length);
    sums_ = 0;
    buckets_ = buckets.size();
  }

  void operator()(Communicator& comm, core::Range bucket, std::span<float> gradient) override {
    const std::span<float> kept = bucket.of(residual_.span()), sum = bucket.of(gradient);
    const auto step = static_cast<std::size_t>(sums_) / buckets_;
    const core::Range part = core::part_of(bucket.size(), parts_, step % parts_);
    sums_ += 1;
    comm.run(backend::Add{sum, kept}, backend::Fill{0, sum}, backend::Copy{part.of(kept), part.of(sum)},
             backend::Fill{0, part.of(kept)});
    (*allreduce_)(comm, part.of(sum));
  }

  void describe_state(core::StateView& state) override {
    state.add("residual", residual_.span(), core::Rescale::sum);
    state.add("sums", sums_, core::Rescale::equal);
  }

 private:
  std::size_t parts_;
  std::unique_ptr<Allreduce> allreduce_;
  core::Arena residual_;     // [parameters]
  double sums_ = 0;          // so far, of all buckets; a double, for the StateView
  std::size_t buckets_ = 1;  // per step
};

}  // namespace

Entry partial_entry() {
  return {{.name = "partial",
           .parameter = ":PARTS",
           .example = ":3",
           .summary = "one of PARTS parts of the gradient in turn, with what was kept back of it since its last turn",
           .source = "Ako: Watcharapichat et al., SoCC 2016",
           .options = core::options_of<CollectiveOptions>()},
          [](std::string_view parameter, const core::Settings& settings, std::uint64_t) {
            const auto parts = parse_parameter<std::size_t>(parameter, {.least = 1, .most = 1000000});
            return std::make_unique<Partial>(static_cast<std::size_t>(parts),
                                             core::read_options<CollectiveOptions>(settings).collective);
          }};
}

}  // namespace paragrad::comm::compression
