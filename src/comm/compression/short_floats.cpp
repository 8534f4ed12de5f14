#include "comm/compression/short_floats.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "backend/device_array.hpp"
#include "backend/kernels/add_codes.hpp"
#include "backend/kernels/quantise.hpp"
#include "comm/allreduce.hpp"
#include "comm/compression/unit_of_means.hpp"
#include "comm/wrappers/forwarding_communicator.hpp"
#include "core/arena.hpp"
#include "core/errors.hpp"

namespace paragrad::comm::compression {
namespace {

/// Takes the floats of a collective for pairs of codes.
class AddingCodes : public ForwardingCommunicator {
 public:
  AddingCodes(Communicator& inner, backend::Code code) : ForwardingCommunicator(inner), code_(code) {}

  void add(std::span<const float> from, std::span<float> to) override { run(backend::AddCodes{code_, from, to}); }

  void library_routine(Library library, Operation operation, std::span<const float> send, std::span<float> data) override {
    if (device().computes())
      throw core::ConfigError(
          "a library's collective adds float32 here: with `compression` fp16 and bf16 choose another `collective`");
    inner().library_routine(library, operation, send, data);
  }

 private:
  backend::Code code_;
};

class ShortFloats : public GradientSum {
 public:
  ShortFloats(backend::Code code, const std::string& collective, const LossyOptions& options)
      : quantiser_{.code = code}, options_(options), collective_(collective), allreduce_(make_allreduce(collective)) {}

  void start(Communicator& comm, std::span<const core::Matrix> layout, std::span<const core::Range> buckets) override {
    std::size_t longest = 0;
    for (const core::Range bucket : buckets) longest = std::max(longest, bucket.size());
    packed_ = comm.device().allocate(words_of(longest));
    if (options_.error_feedback) residual_ = comm.device().allocate(layout.empty() ? 0 : layout.back().range().end);
    if (quantiser_.code == backend::Code::fp16 && saturated_.size() == 0)
      saturated_ = backend::DeviceArray<std::uint32_t>(comm.device(), 1);
  }

  void set_samples(double samples) override { quantiser_.unit = unit_of_means(samples); }

  void operator()(Communicator& comm, core::Range bucket, std::span<float> gradient) override {
    const std::size_t length = bucket.size();
    if (words_of(length) > packed_.size()) throw std::logic_error("a gradient bucket was not announced");
    const std::span<float> x = bucket.of(gradient), words = packed_.span().first(words_of(length));
    const std::span<float> residual = options_.error_feedback ? bucket.of(residual_.span()) : std::span<float>{};
    const auto bytes = std::as_writable_bytes(words);
    comm.run_kernels([&](backend::KernelQueue& queue) {
      options_.fade(queue, residual);
      queue.run(backend::Quantise{quantiser_, length, 1, x, residual, bytes, saturated_.span()});
    });
    AddingCodes codes(comm, quantiser_.code);
    (*allreduce_)(codes, words);
    comm.run(backend::Dequantise{quantiser_, length, 1, bytes, 0, x});
  }

  std::string explain(const Communicator& comm, std::size_t length) const override {
    return explain_collective(collective_, *allreduce_, comm, words_of(length));
  }

  std::optional<std::uint64_t> saturated(Communicator& comm) override {
    if (saturated_.size() == 0) return std::nullopt;
    return backend::value_at(comm.device(), saturated_.span().data());
  }

  void describe_state(core::StateView& state) override {
    if (options_.error_feedback) state.add("residual", residual_.span(), core::Rescale::sum);
  }

 private:
  static std::size_t words_of(std::size_t length) { return (length + 1) / 2; }

  backend::Quantiser quantiser_;
  LossyOptions options_;
  std::string collective_;
  std::unique_ptr<Allreduce> allreduce_;
  core::Arena packed_;
  core::Arena residual_;
  backend::DeviceArray<std::uint32_t> saturated_;  // elements of gradients; empty: none can be
};

}  // namespace

std::unique_ptr<GradientSum> sum_in_short_floats(backend::Code code, const std::string& collective,
                                                 const LossyOptions& options) {
  return std::make_unique<ShortFloats>(code, collective, options);
}

}  // namespace paragrad::comm::compression
