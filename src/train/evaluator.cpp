#include "train/evaluator.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <vector>

#include "backend/device_array.hpp"
#include "comm/allreduce.hpp"
#include "core/range.hpp"
#include "train/learners/network_learner.hpp"

namespace paragrad::train {

Score Evaluator::score(data::Subset subset, std::size_t at_most) {
  const std::size_t samples = std::min(input_.source.samples(subset), at_most);
  if (samples == 0) return learner_.score({});
  while (true) {
    const backend::LossSum loss = part_of(subset, samples);
    std::array<double, 3> sums{loss.loss, static_cast<double>(loss.errors), loss.free_energy};
    const std::size_t count = learner_.has_free_energy() ? 3 : 2;  // absent values are not sent
    if (add_up_(std::span(sums).first(count)))
      return learner_.score(
          input_.source.sums(subset, sums[0], sums[1], static_cast<double>(input_.source.scored(subset, samples)), sums[2]));
  }
}

// Scores this worker's part of the first `samples` samples.
backend::LossSum Evaluator::part_of(data::Subset subset, std::size_t samples) {
  const SubsetPart part = open_part(worker_, input_, subset, samples, learner_.largest_batch());
  backend::DeviceArray<backend::LossSum> loss(worker_.device(), 1);
  compute(worker_, learner_, cost_ ? cost_->evaluate(part.samples) : backend::WorkMeter{},
          [&] { Minibatch(learner_, worker_.device(), *part.stream, part.samples).evaluate(loss.data()); });
  return backend::value_at(worker_.device(), loss.data());
}

SubsetPart open_part(comm::Worker& worker, const WorkerInput& input, data::Subset subset, std::size_t samples,
                     std::size_t largest) {
  const core::Range part =
      core::part_of(samples, static_cast<std::size_t>(worker.size()), static_cast<std::size_t>(worker.rank()));
  auto stream = input.open(worker.device(), subset, largest);
  std::vector<std::uint32_t> indices(input.source.dataset ? part.size() : 0);
  std::iota(indices.begin(), indices.end(), static_cast<std::uint32_t>(part.begin));
  stream->prefetch({part.size(), std::move(indices)});
  stream->advance();
  return {part.size(), std::move(stream)};
}

std::unique_ptr<Learner> trained_network(comm::Worker& worker, const TrainingOptions& options,
                                         std::span<const float> parameters, const TrainingData& source, bool bare_gradient) {
  check_size(source, parameters);
  constexpr std::size_t sequences = 16;  // together
  const std::size_t minibatch = source.has_sequences() ? sequences : options.minibatch;
  const MakeLearner make = network_learners(source.network, options, source.most_rows_per_sample());
  auto learner = make(worker.device(), minibatch, bare_gradient);
  learner->restore(parameters);
  return learner;
}

Score evaluate(comm::Worker& worker, const TrainingOptions& options, std::span<const float> parameters,
               const WorkerInput& input, data::Subset subset) {
  const auto learner = trained_network(worker, options, parameters, input.source, false);
  std::optional<LearnerCost> cost;
  if (const TrainingData& source = input.source; !source.samples_differ())
    cost.emplace(*learner, worker.device().call_times(), source.all_alike());
  const AddUp add_up = [&](std::span<double> values) {
    comm::sum_in_rank_order(worker.comm(), values);
    return true;
  };
  return Evaluator(worker, *learner, cost ? &*cost : nullptr, input, add_up).score(subset);
}

}  // namespace paragrad::train
