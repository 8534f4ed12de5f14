#include "train/pretraining_checks.hpp"

#include <algorithm>
#include <vector>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "rbm/deep_belief_net.hpp"

namespace paragrad::train {

void check_pretraining(const TrainingOptions& options, const nn::Graph& network) {
  if (options.pretraining.epochs == 0) return;
  const std::size_t machines = rbm::machines_of(network, options.model).size(), rates = options.pretraining.rates.size();
  if (rates != 1 && rates != machines)
    throw core::ConfigError(
        core::format("`pretrain-learning-rate` has {} rates for {} layers: give one, or one per layer", rates, machines));
}

void check_pretraining_data(const TrainingOptions& options, const data::Dataset& dataset) {
  if (options.pretraining.epochs == 0) return;
  if (dataset.info().widths.weights > 0)
    throw core::ConfigError(
        core::format("'{}' has weights of samples, which pretraining does not take: pretrain on a data file without them, "
                     "with `epochs` 0, and give the checkpoint to `init`",
                     dataset.info().path));
  if (rbm::parse_visible_units(options.pretraining.visible_units) == rbm::VisibleUnits::gaussian) return;
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
