#pragma once

#include <map>
#include <memory>
#include <optional>

#include "comm/compression/striped.hpp"

namespace paragrad::comm::compression {

/// A sum that is encoded once: every worker encodes its own gradient, receives the codes of all others, and adds all of them
/// up, its own in encoded form too. SparseLoCo (arXiv 2508.15706) and DeMo (arXiv 2411.19870) exchange their codes so. With
/// few workers or short codes it costs little; its bytes grow with the workers.
///
/// Steps     1, of n-1 messages: in step k to the worker k ranks ahead, from the one k ranks back.
/// Bytes     every worker sends and receives n-1 times the encoded bucket, and holds n of them.
/// Order     rank order: ((x0 + x1) + x2) + …
class Gathered : public GradientSum {
 public:
  Gathered(std::unique_ptr<Codec> codec, const LossyOptions& options) : codec_(std::move(codec)), options_(options) {}

  Grain grain() const override { return codec_->grain(); }
  void start(Communicator& comm, std::span<const core::Matrix> layout, std::span<const core::Range> buckets) override;
  void set_samples(double samples) override { codec_->set_samples(samples); }
  void operator()(Communicator& comm, core::Range bucket, std::span<float> gradient) override;
  std::optional<std::uint64_t> saturated(Communicator& comm) override { return codec_->saturated(comm.device()); }
  void describe_state(core::StateView& state) override { state.add("residual", residual_.span(), core::Rescale::sum); }

 private:
  std::span<std::byte> code_of(int rank, std::size_t bytes);

  std::unique_ptr<Codec> codec_;
  LossyOptions options_;
  std::map<std::size_t, Stripe> buckets_;  // whole ones, by their beginnings
  core::Arena residual_;                   // [parameters]
  core::Arena codes_;                      // the bucket in hand, of all workers
};

}  // namespace paragrad::comm::compression
