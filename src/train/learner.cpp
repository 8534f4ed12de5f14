#include "train/learner.hpp"

#include <algorithm>
#include <limits>

#include "train/checkpoint.hpp"

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
  if (computes()) std::ranges::copy(model, parameters().begin());
}

std::vector<float> Learner::snapshot() {
  if (!computes()) return {};
  return {parameters().begin(), parameters().end()};
}

std::string Learner::model_sha256() { return computes() ? parameters_sha256(snapshot()) : std::string{}; }

Score Learner::score(double loss, double errors, double samples) const {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  if (samples == 0 || !computes()) return {unknown, unknown};
  return {loss / samples, errors / samples};
}

}  // namespace paragrad::train
