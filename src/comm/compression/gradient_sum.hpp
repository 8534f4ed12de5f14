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

/// What must not be torn apart when a gradient is cut into buckets.
enum class Grain { element, column, matrix };

/// How the workers' gradients become one: summed as they are, or written with fewer bytes than they have. One object per
/// worker; all workers make the same calls in the same order, and end with the same bits.
///
/// What a compressed gradient leaves out is not lost: with error feedback each worker keeps it and adds it to its next
/// gradient, so that all of it arrives in the end (Seide, Fu, Droppo, Li & Yu, Interspeech 2014). What it keeps is in units
/// of a gradient: a learning rate that falls meanwhile applies to it as well.
class GradientSum {
 public:
  virtual ~GradientSum() = default;

  virtual Grain grain() const { return Grain::element; }

  /// Before the first sum, and again when training goes back to another model: nothing is kept from before. `buckets`, cut
  /// as grain() says, cover the gradient.
  virtual void start(Communicator&, std::span<const core::Matrix> /*layout*/, std::span<const core::Range> /*buckets*/) {}

  /// gradient[bucket] becomes the sum over the workers, or what is sent of it. Collective, in a communication task or
  /// outside.
  virtual void operator()(Communicator& comm, core::Range bucket, std::span<float> gradient) = 0;

  /// What is kept for the next minibatch.
  virtual void describe_state(core::StateView&) {}
};

struct CompressionOptions {
  /// Of compression/catalogue.def, with its parameter: "none", "bits:1", "fp16", "top_k:0.01", "power_sgd:4".
  std::string name = "none";
  bool threshold_at_mean = false;  ///< bits:1: cut each column at its mean instead of 0
  bool error_feedback = true;
  std::string collective = "ring";  ///< what sums where sums are exact
  std::uint64_t seed = 1;           ///< power_sgd: of its first guess
};

/// Throws ConfigError: unknown name, a parameter that is missing or out of range.
std::unique_ptr<GradientSum> make_gradient_sum(const CompressionOptions& options);

struct CompressionEntry {
  std::string name;
  std::string parameter;  ///< ":K" or ""
  std::string options;    ///< names of those that it uses and not every compression does, separated by spaces
  std::string description;
};
std::vector<CompressionEntry> compression_catalogue();

/// The element nearest below `position` where the gradient may be cut.
std::size_t cut_below(std::span<const core::Matrix> layout, Grain grain, std::size_t position);

/// The parts of the layout's matrices in `range`, which is cut at columns; positions relative to its beginning.
std::vector<core::Matrix> columns_within(std::span<const core::Matrix> layout, core::Range range);

}  // namespace paragrad::comm
