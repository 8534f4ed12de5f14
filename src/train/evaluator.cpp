#include "train/evaluator.hpp"

#include <array>
#include <limits>
#include <numeric>

#include "comm/allreduce.hpp"
#include "core/range.hpp"

namespace paragrad::train {

Score Evaluator::score(data::Subset subset) {
  const std::size_t samples = source_.dataset->info().samples[static_cast<std::size_t>(subset)];
  const core::Range part =
      core::part_of(samples, static_cast<std::size_t>(worker_.size()), static_cast<std::size_t>(worker_.rank()));
  std::vector<std::uint32_t> rows(part.size());
  std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(part.begin));
  data::Loader loader(source_.dataset, subset, *source_.prefetcher);
  loader.prefetch(std::move(rows));
  loader.advance();
  backend::LossSum loss;
  worker_.compute(cost_.evaluate(part.size()),
                  [&] { loss = learner_.evaluate(part.size(), [&](std::size_t n) { return loader.next(n); }); });
  std::array<double, 2> sums{loss.loss, static_cast<double>(loss.errors)};
  comm::sum_in_rank_order(worker_.comm(), sums);
  if (samples == 0) return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
  return {sums[0] / static_cast<double>(samples), sums[1] / static_cast<double>(samples)};
}

Score evaluate(comm::Worker& worker, const Options& options, std::span<const float> parameters, const Source& source,
               data::Subset subset) {
  Learner learner(worker.device(), options, options.minibatch, false);
  LearnerCost cost(options, options.minibatch, false);
  std::copy(parameters.begin(), parameters.end(), learner.parameters().begin());
  return Evaluator(worker, learner, cost, source).score(subset);
}

}  // namespace paragrad::train
