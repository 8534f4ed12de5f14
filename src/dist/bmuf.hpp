#pragma once

#include "core/arena.hpp"
#include "dist/strategy.hpp"

namespace paragrad::dist {

/// Blockwise model-update filtering (Chen and Huo, ICASSP 2016), with the mean of the local models Wbar:
///
///   G(t) = Wbar(t) - Wg(t-1);  Δ(t) = η Δ(t-1) + ζ G(t);  W(t) = W(t-1) + Δ(t)
///   cbm       Wg(t) = W(t)              classical block momentum
///   nbm       Wg(t) = W(t) + η Δ(t)     Nesterov block momentum; W, not the look-ahead point Wg, is the model
///   nbm_cntk  W(t) = Wg(t) = W(t-1) + Δ(t) + η Δ(t): what CNTK (and fairseq) compute. The look-ahead is never taken back,
///   so
///             a block's update adds up to (1+η) ζ/(1-η) G instead of ζ/(1-η) G.
///
/// η = 1 - 1/N unless given. η = 0, ζ = 1 is model averaging. The filter works on one copy of W and Δ for all workers
/// together: each holds the range it owns of the allreduce, 2/N of a model (with `butterfly` everyone owns everything).
class Bmuf : public Strategy {
 public:
  explicit Bmuf(const StrategyOptions& options);

  Share share() const override { return Share::block; }
  void start(comm::Worker& worker, Replica& replica) override;
  void synchronise(comm::Worker& worker, Replica& replica, std::size_t samples) override;
  void show_model(comm::Worker& worker, Replica& replica) override;
  void describe_state(core::State& state) override;
  void resume_work(comm::Worker& worker, Replica& replica) override;

 private:
  enum class Kind { cbm, nbm, nbm_cntk };
  static Kind parse_kind(std::string_view name);

  bool filters() const;  ///< false: plain averaging of one worker, nothing moves
  float ahead() const { return kind_ == Kind::cbm ? 0.f : momentum_; }

  StrategyOptions options_;
  Kind kind_;
  std::unique_ptr<comm::Allreduce> allreduce_;
  float momentum_ = 0;
  int workers_ = 1;
  core::Range owned_;
  core::Arena model_;  // W, [owned]
  core::Arena delta_;  // Δ, [owned]
};

}  // namespace paragrad::dist
