#include "train/learners/learner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/format.hpp"
#include "core/json.hpp"

namespace paragrad::train {

Learner::Learner(backend::Device& device, std::span<const core::Matrix> layout, const optim::OptimiserOptions& rule,
                 bool bare_gradient)
    : device_(device),
      layout_(layout),
      parameters_(device.allocate(layout.empty() ? 0 : layout.back().range().end)),
      optimiser_(optim::make_optimiser(rule, device, layout, bare_gradient)) {}

void Learner::initialise(std::uint64_t seed) {
  if (!computes()) return;
  std::vector<float> model(model_size());
  do_initialise(seed, model);
  restore(model);
}

void Learner::restore(std::span<const float> model) {
  if (computes() && !model.empty()) device().transfer(model, parameters());
}

std::vector<float> Learner::snapshot() {
  if (!computes()) return {};
  std::vector<float> model(parameters().size());
  device().transfer(std::span<const float>(parameters()), std::span(model));
  return model;
}

Score Learner::score(const SampleSums& sums) const {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  if (sums.samples == 0 || !computes()) return {unknown, unknown, unknown};
  return {sums.loss / sums.samples, sums.errors / sums.samples, sums.free_energy / sums.samples};
}

core::Json Learner::record(const Score& train, const Score& valid) const {
  return {
      {"train_loss", train.loss}, {"train_error", train.error}, {"valid_loss", valid.loss}, {"valid_error", valid.error}};
}

std::string Learner::describe(const Score& train, const Score& valid) const {
  const auto text = [](const char* subset, const Score& score) {
    return core::format("{} loss {:.4f} error {:6.2f} %   ", subset, score.loss, 100 * score.error);
  };
  const bool is_validated = !std::isnan(valid.error);
  return text("train", train) + (is_validated ? text("valid", valid) : "");
}

}  // namespace paragrad::train
