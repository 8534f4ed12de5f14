#include "nn/ops/initial_weights.hpp"

#include <cmath>

namespace paragrad::nn {

void initialise_weights(backend::Activation next, std::size_t fan_in, std::size_t fan_out, const core::RandomStream& random,
                        std::span<float> weights) {
  const double in = static_cast<double>(fan_in), out = static_cast<double>(fan_out);
  const backend::InitialWeights kind = backend::initial_weights(next);
  if (kind == backend::InitialWeights::he) return initialise_normal(std::sqrt(2 / in), random, weights);
  const double limit = std::sqrt(6 / (in + out)) * (kind == backend::InitialWeights::glorot_wide ? 4 : 1);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(limit * (2 * random.uniform(i) - 1));
}

void initialise_normal(double deviation, const core::RandomStream& random, std::span<float> weights) {
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(deviation * random.normal(i));
}

}  // namespace paragrad::nn
