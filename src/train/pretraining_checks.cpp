#include "train/pretraining_checks.hpp"

#include <algorithm>
#include <vector>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "rbm/deep_belief_net.hpp"

namespace paragrad::train {
namespace {

void check_numbers(const PretrainingOptions& options, std::size_t machines) {
  if (options.rates.size() != 1 && options.rates.size() != machines)
    throw core::ConfigError(core::format("`pretrain-learning-rate` has {} rates for {} layers: give one, or one per layer",
                                         options.rates.size(), machines));
  for (const double rate : options.rates)
    if (!(rate > 0)) throw core::ConfigError(core::format("`pretrain-learning-rate` {} must be above 0", rate));
  if (options.minibatch == 0) throw core::ConfigError("`pretrain-minibatch` must be at least one sample");
  if (!(options.weight_deviation >= 0))
    throw core::ConfigError(core::format("`pretrain-weight-deviation` {} must be 0 or more", options.weight_deviation));
  rbm::check(options.machine);
  rbm::parse_activations(options.activations);
  rbm::parse_visible_units(options.visible_units);
}

}  // namespace

void check_pretraining(const TrainingOptions& options, const nn::Graph& network) {
  if (options.pretraining.epochs == 0) {
    if (options.epochs == 0)
      throw core::ConfigError("`epochs` 0 trains nothing: give `epochs` 1 or more, or `pretrain-epochs`");
    return;
  }
  check_numbers(options.pretraining, rbm::machines_of(network, options.model).size());
  if (!options.init.empty())
    throw core::ConfigError("`init` and `pretrain-epochs` both provide the initial model: give only one of them");
  if (options.tensor_parallel > 1)
    throw core::ConfigError(
        "pretraining does not support tensor parallelism: pretrain without `tensor-parallel` (and with `epochs` 0), then "
        "give the checkpoint to `init`");
}

void check_pretraining_data(const TrainingOptions& options, const data::Dataset& dataset) {
  if (options.pretraining.epochs == 0 ||
      rbm::parse_visible_units(options.pretraining.visible_units) == rbm::VisibleUnits::gaussian)
    return;
  const std::size_t samples = std::min<std::size_t>(dataset.info().samples[0], 1000);
  std::vector<float> features(dataset.info().frame_dim());
  for (std::size_t sample = 0; sample < samples; ++sample) {
    dataset.decode(dataset.row(data::Subset::train, sample), features);
    for (const float feature : features)
      if (!(feature >= 0 && feature <= 1))
        throw core::ConfigError(
            core::format("'{}' has a feature of {} in sample {}, but binomial units need values from 0 to 1: choose "
                         "`visible-units` gaussian",
                         dataset.info().path, feature, sample));
  }
}

}  // namespace paragrad::train
