#pragma once

#include <optional>

#include "core/arena.hpp"
#include "strategies/model_averaging.hpp"

namespace paragrad::strategies {

/// Options of block momentum.
struct BlockFilterOptions : ModelExchangeOptions {
  enum class Kind { cbm, nbm, nbm_cntk };
  enum class Form { paper, cntk };

  Kind kind = Kind::nbm;
  std::optional<double> momentum;         ///< η; default 1 - 1/N
  double momentum_time_constant = 0;      ///< samples per worker, instead of η; 0: none
  double learning_rate = 1;               ///< ζ, the weight of the averaged update
  Form learning_rate_form = Form::paper;  ///< or cntk: asymptotic weight of the summed updates

  void describe(core::OptionList& list);
};

struct BmufOptions : BlockFilterOptions {
  bool reset_local_momentum = true;  ///< at each synchronisation that changed the model

  void describe(core::OptionList& list);
};

/// Blockwise model-update filtering (Chen and Huo, ICASSP 2016). With the mean Wbar of the local models:
///
///   G(t) = Wbar(t) - Wg(t-1);  Δ(t) = η Δ(t-1) + ζ G(t);  W(t) = W(t-1) + Δ(t)
///   cbm       Wg(t) = W(t)              classical block momentum
///   nbm       Wg(t) = W(t) + η Δ(t)     Nesterov block momentum; W, not the look-ahead point Wg, is the model
///   nbm_cntk  W(t) = Wg(t) = W(t-1) + Δ(t) + η Δ(t): what CNTK (and fairseq) compute. The look-ahead is never undone, so a
///             block's update adds up to (1+η) ζ/(1-η) G instead of ζ/(1-η) G.
///
/// η = 1 - 1/N unless given, either directly or by a time constant T: then η = e^(-B/T) for a block of B samples per worker.
/// B is averaged over all workers, so that η is the same on each and a short block decays less. Wg(t) looks ahead by the η
/// of the previous block.
///
/// ζ is given directly or, in CNTK's form, by the gain C = ζ/(N(1-η)): the asymptotic weight of the sum of the workers'
/// updates, whatever η.
///
/// η = 0, ζ = 1 is model averaging. The workers together keep one copy of W and Δ: each holds the range that it owns in the
/// allreduce, 2/N of a model (with `butterfly` every worker owns everything).
class Bmuf : public Strategy {
 public:
  explicit Bmuf(const BmufOptions& options);

  Remarks explain(const Extent& extent) const override;
  void start(comm::Worker& worker, Replica& replica) override;
  void synchronise(comm::Worker& worker, Replica& replica, std::size_t samples) override;
  void show_model(comm::Worker& worker, Replica& replica) override;
  void describe_state(core::StateView& state) override;
  void resume_work(comm::Worker& worker, Replica& replica) override;

  /// The part of all updates so far that has not yet reached the model. k blocks after an update, η^(k+1) of it is still to
  /// come; in total that is U = η/(1-η) Δ ((1+η) times this for nbm_cntk). Its norm is reported relative to that of W, as no
  /// copy of the initial model is kept for comparison.
  Remarks report(comm::Worker& worker) override;

 protected:
  using Kind = BlockFilterOptions::Kind;

  /// η and ζ of a block.
  struct Coefficients {
    double momentum = 0;
    double rate = 1;
  };
  Coefficients coefficients(int workers, double samples_per_worker) const;

  /// The η by which the next starting point will be ahead of W(t-1) + Δ(t).
  double ahead(Coefficients block) const { return options_.kind == Kind::cbm ? 0 : block.momentum; }
  /// The η by which the starting point is ahead of W.
  double look_ahead() const { return look_ahead_; }
  bool filters() const { return filters_; }  ///< false: a single worker with plain averaging, nothing to do
  const comm::Allreduce& allreduce() const { return *allreduce_; }
  core::Range owned() const { return owned_; }

 private:
  void filter(comm::Worker& worker, std::span<float> average, Coefficients block);

  BmufOptions options_;
  std::unique_ptr<comm::Allreduce> allreduce_;
  bool filters_ = true;
  core::Range owned_;
  core::Arena model_;      // W, [owned]
  core::Arena delta_;      // Δ, [owned]
  double look_ahead_ = 0;  // nbm only
  double momentum_ = 0;    // η of the last block
  double blocks_ = 0;      // blocks with samples, so far
  double pending_ = 0;     // sum of the parts of their updates still to come, one whole update being 1
};

}  // namespace paragrad::strategies
