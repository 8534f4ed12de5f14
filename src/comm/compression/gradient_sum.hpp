#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator.hpp"
#include "core/layout.hpp"
#include "core/range.hpp"
#include "core/state_view.hpp"

namespace paragrad::comm {

/// The smallest unit that cutting a gradient into buckets must keep whole.
enum class Grain { element, column, matrix };

/// Sums the workers' gradients, uncompressed or compressed to fewer bytes. One object per worker; all workers make the same
/// calls in the same order and end with the same bits.
///
/// With error feedback each worker keeps the compression error and adds it to its next gradient, so that nothing is lost in
/// the long run (Seide, Fu, Droppo, Li & Yu, Interspeech 2014). The error is kept in units of the gradient: a lower learning
/// rate applies to it as well.
class GradientSum {
 public:
  virtual ~GradientSum() = default;

  virtual Grain grain() const { return Grain::element; }

  /// Called before the first sum, and again when training goes back to another model; discards all kept errors. `buckets`,
  /// cut at the borders that grain() allows, cover the gradient.
  virtual void start(Communicator&, std::span<const core::Matrix> /*layout*/, std::span<const core::Range> /*buckets*/) {}

  /// Replaces gradient[bucket] with the sum over the workers, as far as it is transmitted. Collective, inside or outside a
  /// communication task.
  virtual void operator()(Communicator& comm, core::Range bucket, std::span<float> gradient) = 0;

  /// State carried to the next minibatch.
  virtual void describe_state(core::StateView&) {}
};

struct CompressionOptions {
  /// A name of compression/catalogue.def with its parameter: "none", "bits:1", "fp16", "top_k:0.01", "power_sgd:4".
  std::string name = "none";
  bool threshold_at_mean = false;  ///< bits:1: threshold of each column is its mean instead of 0
  bool error_feedback = true;
  std::string collective = "ring";  ///< allreduce algorithm for exact sums
  std::uint64_t seed = 1;           ///< power_sgd: seed of its initial guess
};

/// Throws ConfigError: unknown name, missing parameter, or parameter out of range.
std::unique_ptr<GradientSum> make_gradient_sum(const CompressionOptions& options);

struct CompressionEntry {
  std::string name;
  std::string parameter;  ///< ":K" or ""
  std::string options;    ///< options that this compression uses but not all do, separated by spaces
  std::string description;
};
std::vector<CompressionEntry> compression_catalogue();

/// The last position at or before `position` where the gradient may be cut.
std::size_t cut_below(std::span<const core::Matrix> layout, Grain grain, std::size_t position);

/// The parts of the layout's matrices in `range`, whose ends lie between columns; positions relative to its beginning.
std::vector<core::Matrix> columns_within(std::span<const core::Matrix> layout, core::Range range);

}  // namespace paragrad::comm
