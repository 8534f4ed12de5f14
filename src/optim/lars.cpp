#include "optim/lars.hpp"

#include <cmath>
#include <stdexcept>

#include "backend/kernels/scale.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "optim/optimiser_context.hpp"

namespace paragrad::optim {

Lars::Lars(const OptimiserOptions& options, backend::Device& device, std::span<const core::Matrix> layout,
           std::size_t parameters)
    : SeparateMomentum(device, parameters, false), trust_(options.lars_trust), layout_(layout) {
  if (!(trust_ > 0)) throw core::ConfigError(core::format("the trust coefficient {} of LARS must be above 0", trust_));
}

void Lars::update(backend::KernelQueue& queue, core::Range range, Step step, std::span<float> parameters) {
  if (range != core::Range{0, parameters.size()}) throw std::logic_error("LARS updates all parameters at once");
  for (const core::Matrix& matrix : layout_) {
    if (matrix.shape.columns == 1)
      SeparateMomentum::update(queue, matrix.range(), step, parameters);
    else
      update_matrix(queue, matrix.range(), step, parameters);
  }
}

void Lars::update_matrix(backend::KernelQueue& queue, core::Range range, Step step, std::span<float> parameters) {
  const double w = std::sqrt(queue.squared_norm(range.of(parameters)));
  const double g = std::sqrt(queue.squared_norm(range.of(gradients())));
  const double ratio = w > 0 && g > 0 ? trust_ * step.samples * w / (g + step.decay * w) : 1;
  queue.run(backend::Scale{static_cast<float>(ratio), range.of(gradients())});
  step.decay *= static_cast<float>(ratio);
  SeparateMomentum::update(queue, range, step, parameters);
}

std::unique_ptr<LocalOptimiser> make_lars(const OptimiserContext& from) {
  return std::make_unique<Lars>(from.options, from.device, from.layout, from.parameters);
}

}  // namespace paragrad::optim
