#pragma once

#include <map>
#include <memory>
#include <optional>

#include "backend/device.hpp"
#include "comm/compression/entry.hpp"
#include "comm/compression/gradient_sum.hpp"
#include "core/arena.hpp"

namespace paragrad::comm::compression {

/// A range of the gradient that one worker sums for all.
struct Stripe {
  core::Range range;                   ///< of the gradient
  std::vector<core::Matrix> matrices;  ///< its parts of matrices, whole columns; positions relative to range.begin
};

/// A lossy encoding of a stripe, always of the same size in bytes. Calls kernels and nothing else, so that it may run under
/// Communicator::run_kernels.
class Codec {
 public:
  virtual ~Codec() = default;

  virtual Grain grain() const = 0;

  virtual std::size_t bytes(const Stripe& stripe) const = 0;  ///< a multiple of 4

  /// See GradientSum.
  virtual void start(backend::Device&) {}
  virtual void set_samples(double /*samples*/) {}
  virtual std::optional<std::uint64_t> saturated(backend::Device&) { return std::nullopt; }

  /// u = x + residual; packed = encode(u); residual = u - decode(packed). With an empty residual u = x, and the error is
  /// dropped.
  virtual void encode(backend::KernelQueue& queue, const Stripe& stripe, std::span<const float> x, std::span<float> residual,
                      std::span<std::byte> packed) const = 0;

  /// x = keep·x + decode(packed); keep is 0 or 1.
  virtual void decode(backend::KernelQueue& queue, const Stripe& stripe, std::span<const std::byte> packed, float keep,
                      std::span<float> x) const = 0;
};

/// The exchange of 1-bit SGD (Seide, Fu, Droppo, Li & Yu, Interspeech 2014), for any codec. Every worker owns one stripe of
/// each bucket. 1. Each worker adds its last compression error to its gradient and encodes the result. 2. Worker k receives
/// all stripes k, decodes them and adds them in rank order, its own in encoded form too. 3. It adds the compression error of
/// its last sum, encodes the sum and sends it to all. 4. All workers, the owner too, decode this, so replicas stay equal.
///
/// Steps     2, each of n-1 messages: in step k to the worker k ranks ahead, from the one k ranks back.
/// Bytes     every worker sends and receives 2 (n-1)/n of the encoded bucket.
/// Order     rank order: ((x0 + x1) + x2) + …
/// Stripes are cut between columns and nearly equal in size across all matrices, so vectors do not burden a single worker.
class Striped : public GradientSum {
 public:
  Striped(std::unique_ptr<Codec> codec, const LossyOptions& options) : codec_(std::move(codec)), options_(options) {}

  Grain grain() const override { return codec_->grain(); }
  void start(Communicator& comm, std::span<const core::Matrix> layout, std::span<const core::Range> buckets) override;
  void set_samples(double samples) override { codec_->set_samples(samples); }
  void operator()(Communicator& comm, core::Range bucket, std::span<float> gradient) override;
  std::optional<std::uint64_t> saturated(Communicator& comm) override { return codec_->saturated(comm.device()); }
  void describe_state(core::StateView& state) override;

 private:
  /// How a bucket is cut.
  struct Plan {
    std::vector<Stripe> stripes;       // [workers]
    std::vector<std::size_t> offsets;  // [workers + 1] of the encoded stripes, in bytes
    core::Range mine;                  // where the residual of this worker's stripe lies in sum_residual_
  };

  Plan plan(std::span<const core::Matrix> layout, core::Range bucket, std::size_t workers) const;
  std::span<std::byte> encoded(const Plan& plan, std::size_t stripe);
  std::span<std::byte> received(const Plan& plan, std::size_t rank, std::size_t from);
  std::span<float> residual(core::Range range) {
    return options_.error_feedback ? range.of(residual_.span()) : std::span<float>{};
  }
  void encode_all(Communicator& comm, const Plan& plan, std::span<const float> gradient);
  void add_up_mine(Communicator& comm, const Plan& plan, std::span<float> gradient);
  void encode_mine(Communicator& comm, const Plan& plan, std::span<const float> gradient);
  void spread(Communicator& comm, const Plan& plan);
  void decode_all(Communicator& comm, const Plan& plan, std::span<float> gradient);

  std::unique_ptr<Codec> codec_;
  LossyOptions options_;
  std::map<std::size_t, Plan> plans_;  // by the beginning of the bucket
  core::Arena residual_;               // [parameters] what this worker left out of its gradients
  core::Arena sum_residual_;           // and of the sums of its stripes, bucket after bucket
  std::vector<core::Range> mine_;      // which parameters those are
  core::Arena encoded_;                // the stripes of the bucket in hand
  core::Arena received_;               // this worker's stripe from every other one
};

/// The sum of all workers' gradients in the encoding of a codec: Gathered if options.gather_codes, otherwise Striped.
std::unique_ptr<GradientSum> sum_of_codes(std::unique_ptr<Codec> codec, const CodecOptions& options);

}  // namespace paragrad::comm::compression
