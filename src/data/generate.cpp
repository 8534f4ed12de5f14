#include "data/generate.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/memory.hpp"
#include "core/options.hpp"
#include "core/philox.hpp"
#include "data/writer.hpp"

namespace paragrad::data {
namespace {

using core::Purpose;
using core::RandomStream;

constexpr std::size_t chain_length = 3;  // states of a chain, like the beginning, middle and end of a phone
constexpr std::size_t preferred = 4;     // preferred successors of a chain
constexpr double preference = 0.8;       // probability that one of them follows

/// The use of a random stream, which gives its step. The steps of consecutive subsets are 16 apart.
enum Use : std::uint32_t {
  centres,
  components,
  weights,
  successors,
  lengths = 16,
  starts,
  leavings,
  choices,
  mixtures,
  noise
};

RandomStream stream(std::uint64_t seed, Use use, Subset subset = Subset::train) {
  return {seed, Purpose::generator, use + 16 * static_cast<std::uint32_t>(subset)};
}

/// The generating model.
class Teacher {
 public:
  explicit Teacher(const GenerateOptions& options)
      : options_(options), chains_((options.classes + chain_length - 1) / chain_length) {
    require_memory();
    draw_means();
    draw_weights();
    const auto draw = stream(options.seed, successors);
    for (std::size_t i = 0; i < chains_ * preferred; ++i) successors_.push_back(draw.below(chains_, i));
  }

  std::size_t first_state(std::uint64_t sequence, Subset subset) const {
    return stream(options_.seed, starts, subset).below(chains_, sequence) * chain_length;
  }

  /// The state of frame `frame` + 1.
  std::size_t next_state(std::size_t state, std::uint64_t frame, Subset subset) const {
    if (stream(options_.seed, leavings, subset).uniform(frame) * options_.mean_duration >= 1) return state;
    const std::size_t next = state + 1;
    if (next < options_.classes && next % chain_length != 0) return next;
    const auto draw = stream(options_.seed, choices, subset);
    const bool any = draw.uniform(2 * frame) >= preference;
    const std::size_t chain = any ? draw.below(chains_, 2 * frame + 1)
                                  : successors_[state / chain_length * preferred + draw.below(preferred, 2 * frame + 1)];
    return chain * chain_length;
  }

  void speak(std::size_t state, std::uint64_t frame, Subset subset, std::span<float> features) const {
    const double u = stream(options_.seed, mixtures, subset).uniform(frame);
    const auto* const sums = &cumulative_[state * options_.mixtures];
    std::size_t component = 0;
    while (component + 1 < options_.mixtures && u >= sums[component]) ++component;
    const auto* const mean = &means_[(state * options_.mixtures + component) * options_.dim];
    const auto noise_stream = stream(options_.seed, noise, subset);
    for (std::size_t d = 0; d < options_.dim; ++d)
      features[d] = mean[d] + noise_stream.near_normal(frame * options_.dim + d);
  }

 private:
  void require_memory() const {
    const auto gaussians = static_cast<double>(options_.classes) * static_cast<double>(options_.mixtures);
    const auto chains = static_cast<double>(chains_);
    core::require_memory(gaussians * static_cast<double>(options_.dim) * sizeof(float) + gaussians * sizeof(double) +
                             chains * preferred * sizeof(std::size_t),
                         core::format("a generator with {} classes of {} Gaussians in {} dimensions", options_.classes,
                                      options_.mixtures, options_.dim));
  }

  /// Mean of a Gaussian = centre of its state + own displacement, of equal variance: Gaussians of different states are
  /// `separation` apart (root mean square), Gaussians of the same state closer by a factor of sqrt(2).
  void draw_means() {
    const auto scale = static_cast<float>(options_.separation / std::sqrt(4.0 * static_cast<double>(options_.dim)));
    const auto centre = stream(options_.seed, centres), component = stream(options_.seed, components);
    means_.reserve(options_.classes * options_.mixtures * options_.dim);
    for (std::size_t state = 0; state < options_.classes; ++state)
      for (std::size_t m = 0; m < options_.mixtures; ++m)
        for (std::size_t d = 0; d < options_.dim; ++d)
          means_.push_back(scale * (centre.near_normal(state * options_.dim + d) + component.near_normal(means_.size())));
  }

  /// Weights proportional to uniform numbers in 0.5 … 1.5, stored as cumulative sums.
  void draw_weights() {
    const auto draw = stream(options_.seed, weights);
    cumulative_.resize(options_.classes * options_.mixtures);
    for (std::size_t state = 0; state < options_.classes; ++state) {
      const auto sums = std::span(cumulative_).subspan(state * options_.mixtures, options_.mixtures);
      double sum = 0;
      for (std::size_t m = 0; m < sums.size(); ++m) sums[m] = sum += 0.5 + draw.uniform(state * sums.size() + m);
      for (auto& s : sums) s /= sum;
    }
  }

  const GenerateOptions& options_;
  std::size_t chains_;
  std::vector<float> means_;             // [classes][mixtures][dim]
  std::vector<double> cumulative_;       // [classes][mixtures] sums of weights
  std::vector<std::size_t> successors_;  // [chains][preferred]
};

void check(const GenerateOptions& options) {
  const auto at_least = [](std::string_view what, double value, double least) {
    if (!(value >= least))
      throw core::ConfigError(core::format("cannot generate data with {} = {}; it must be at least {}", what, value, least));
  };
  at_least("samples", static_cast<double>(options.samples), 1);
  at_least("dim", static_cast<double>(options.dim), 1);
  at_least("classes", static_cast<double>(options.classes), 2);
  at_least("mixtures", static_cast<double>(options.mixtures), 1);
  at_least("sequence length", static_cast<double>(options.sequence_length), 1);
  at_least("mean duration", options.mean_duration, 1);
  at_least("separation", options.separation, 0);
}

/// Half to one and a half times the mean.
std::size_t length_of(std::uint64_t sequence, const GenerateOptions& options, Subset subset) {
  const std::size_t mean = options.sequence_length;
  return mean - mean / 2 + stream(options.seed, lengths, subset).below(2 * (mean / 2) + 1, sequence);
}

void write_subset(DatasetWriter& writer, Subset subset, std::size_t samples, const GenerateOptions& options,
                  const Teacher& teacher) {
  writer.begin(subset, samples);
  std::vector<float> features;
  std::vector<std::int32_t> labels;
  std::uint64_t frame = 0;
  for (std::uint64_t sequence = 0; frame < samples; ++sequence) {
    const std::size_t length = std::min<std::size_t>(length_of(sequence, options, subset), samples - frame);
    features.resize(length * options.dim);
    labels.resize(length);
    std::size_t state = teacher.first_state(sequence, subset);
    for (std::size_t i = 0; i < length; ++i, ++frame) {
      labels[i] = static_cast<std::int32_t>(state);
      teacher.speak(state, frame, subset, std::span(features).subspan(i * options.dim, options.dim));
      state = teacher.next_state(state, frame, subset);
    }
    writer.append(std::span<const float>(features), std::span<const std::int32_t>(labels));
    writer.end_sequence();
  }
}

}  // namespace

DatasetInfo generate(const GenerateOptions& options) {
  check(options);
  DatasetInfo info;
  info.name = options.name;
  info.source = core::format(
      "paragrad data generate: samples {}, valid {}, test {}, dim {}, classes {}, mixtures {}, mean duration {}, "
      "separation {}, sequence length {}, seed {}",
      options.samples, options.valid, options.test, options.dim, options.classes, options.mixtures, options.mean_duration,
      options.separation, options.sequence_length, options.seed);
  info.licence = "none needed: made by a program";
  info.dim = options.dim;
  info.classes = options.classes;
  const Teacher teacher(options);
  DatasetWriter writer(options.out, info);
  write_subset(writer, Subset::train, options.samples, options, teacher);
  write_subset(writer, Subset::valid, options.valid, options, teacher);
  write_subset(writer, Subset::test, options.test, options, teacher);
  return writer.finish();
}

void GenerateOptions::describe(core::OptionList& list) {
  list.text("out", out, "data file to write").path().required();
  list.text("name", name, "name of the data set");
  list.number("samples", samples, core::one_or_more, "number of training frames");
  list.number("valid", valid, core::any_count, "number of validation frames");
  list.number("test", test, core::any_count, "number of test frames");
  list.number("dim", dim, core::one_or_more, "number of features per frame");
  list.number("classes", classes, core::any_count, "number of classes, the states of the model");
  list.number("mixtures", mixtures, core::one_or_more, "number of Gaussians per state");
  list.number("mean-duration", mean_duration, {.least = 1}, "average duration of a state, in frames");
  list.number("separation", separation, core::zero_or_more,
              "distance between the means of the Gaussians, in standard deviations");
  list.number("sequence-length", sequence_length, core::one_or_more, "average number of frames per sequence");
  list.number("seed", seed, core::any_seed, "random seed");
}

}  // namespace paragrad::data
