#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator.hpp"
#include "core/layout.hpp"
#include "core/options.hpp"
#include "core/range.hpp"
#include "core/state_view.hpp"

namespace paragrad::comm {

/// The smallest unit that cutting a gradient into buckets must keep whole.
enum class Grain { element, column, matrix };

/// Sums the workers' gradients, uncompressed or compressed to fewer bytes. One object per worker; all workers make the same
/// calls in the same order and end with the same bits.
///
/// With error feedback each worker keeps the compression error and adds it to its next gradient, so that nothing is lost in
/// the long run, unless the error decays (Seide, Fu, Droppo, Li & Yu, Interspeech 2014). The error is kept in units of the
/// gradient: a lower learning rate applies to it as well.
class GradientSum {
 public:
  virtual ~GradientSum() = default;

  virtual Grain grain() const { return Grain::element; }

  /// Called before the first sum, and again when training goes back to another model; discards all kept errors. `buckets`,
  /// cut at the borders that grain() allows, cover the gradient.
  virtual void start(Communicator&, std::span<const core::Matrix> /*layout*/, std::span<const core::Range> /*buckets*/) {}

  /// The gradients that follow are sums over this many samples, in all workers together.
  virtual void set_samples(double /*samples*/) {}

  /// Replaces gradient[bucket] with the sum over the workers, as far as it is transmitted. Collective, inside or outside a
  /// communication task.
  virtual void operator()(Communicator& comm, core::Range bucket, std::span<float> gradient) = 0;

  /// Tells the user how arrays of this length are summed, and why; "" if the name is enough.
  virtual std::string explain(const Communicator&, std::size_t /*length*/) const { return ""; }

  /// How many elements this worker has encoded that were too large for their code; nothing if none can be.
  virtual std::optional<std::uint64_t> saturated(Communicator&) { return std::nullopt; }

  /// State carried to the next minibatch.
  virtual void describe_state(core::StateView&) {}
};

/// From compression/catalogue.def. name: with its parameter: "none", "bits:1", "top_k:0.01", "power_sgd:4". settings: its
/// options are read, others ignored. seed: of power_sgd's initial guess. Throws ConfigError: unknown name, missing
/// parameter, or value out of range.
std::unique_ptr<GradientSum> make_gradient_sum(std::string_view name, const core::Settings& settings = {},
                                               std::uint64_t seed = 1);

core::CatalogueInfo compression_catalogue();

/// The last position at or before `position` where the gradient may be cut.
std::size_t cut_below(std::span<const core::Matrix> layout, Grain grain, std::size_t position);

/// The parts of the layout's matrices in `range`, whose ends lie between columns; positions relative to its beginning.
std::vector<core::Matrix> columns_within(std::span<const core::Matrix> layout, core::Range range);

}  // namespace paragrad::comm
