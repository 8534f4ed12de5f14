#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "comm/compression/gradient_sum.hpp"
#include "strategies/model_averaging.hpp"

namespace paragrad::strategies {

/// Options of strategies that take outer steps.
struct OuterExchangeOptions {
  std::string compression = "none";

  void describe(core::OptionList& list);
};

/// How the workers find the mean of their models x_i for an outer step from the common point x, in which a worker weighs
/// w_i, its share of all samples. For a whole model, or a part of it.
///
/// Without compression the models are summed by an allreduce, and each worker takes the step, and keeps the state of the
/// outer optimiser, for the range that it owns there. With compression the workers sum their displacements w_i (x - x_i),
/// which are small compared with the models; the mean is x less the sum as transmitted. Every worker then owns everything:
/// it keeps x and the whole state. A single worker has nothing to compress.
class OuterExchange {
 public:
  /// stream: of random numbers, one for each part of a model.
  OuterExchange(const OuterExchangeOptions& options, const StrategyContext& context, std::uint64_t stream = 0);

  core::Range owned(comm::Communicator& comm, std::size_t length) const;

  /// How the exchange works, and why, unless the options already say so.
  Remarks explain(const Extent& extent) const;

  /// Whether what the workers find is their mean up to rounding.
  bool is_exact(const comm::Communicator& comm) const { return allreduce_ != nullptr || comm.size() == 1; }

  /// Called before the first exchange, and again when training goes back to another model. layout: of the values.
  void start(comm::Communicator& comm, std::span<const core::Matrix> layout);

  /// Replaces values[owned], this worker's model, with the mean. The other values are undefined until all_gather. model:
  /// x[owned]. total: samples of all workers, above 0.
  void to_mean(comm::Communicator& comm, std::span<float> values, std::span<const float> model, std::size_t samples,
               double total);

  /// Spreads what the owners have made of it.
  void all_gather(comm::Communicator& comm, std::span<float> values) const;

  /// See GradientSum::saturated.
  std::optional<std::uint64_t> saturated(comm::Communicator& comm);

  /// Errors of the compression.
  void describe_state(core::StateView& state);

 private:
  std::string collective_;
  std::unique_ptr<comm::Allreduce> allreduce_;  // without compression
  std::unique_ptr<comm::GradientSum> sum_;      // with compression
};

/// Remarks on elements that were too large for the compression, those of this worker being `mine`. All workers call it.
Remarks remarks_on_displacements(comm::Worker& worker, std::optional<std::uint64_t> mine);

}  // namespace paragrad::strategies
