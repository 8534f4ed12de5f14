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
  if (computes()) do_initialise(seed, parameters());
}

void Learner::restore(std::span<const float> parameters) {
  if (computes()) std::copy(parameters.begin(), parameters.end(), parameters_.span().begin());
}

std::vector<float> Learner::snapshot() const {
  const std::span<const float> parameters = parameters_.span();
  return computes() ? std::vector<float>(parameters.begin(), parameters.end()) : std::vector<float>{};
}

std::string Learner::parameters_sha256() const {
  return computes() ? train::parameters_sha256(parameters_.span()) : std::string{};
}

Score Learner::score(double loss, double errors, double samples) const {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  if (samples == 0 || !computes()) return {unknown, unknown};
  return {loss / samples, errors / samples};
}

}  // namespace paragrad::train
