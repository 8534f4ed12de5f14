#include "optim/limited.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "backend/kernels/clamp.hpp"
#include "backend/kernels/limit_row_norms.hpp"
#include "backend/kernels/scale.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::optim {

Limited::Limited(const OptimiserOptions& options, std::unique_ptr<LocalOptimiser> rule, std::span<const core::Matrix> layout)
    : WrappedRule(std::move(rule), layout),
      clip_per_sample_(options.clip_per_sample),
      clips_norms_(options.clip_per_sample > 0 && options.clip != "truncate"),
      together_(options.clip == "global"),
      max_norm_(options.max_norm) {}

void Limited::update(backend::KernelQueue& queue, core::Range range, Step step, std::span<float> parameters) {
  if (needs_all() && range != core::Range{0, parameters.size()})
    throw std::logic_error("norms are limited of all parameters at once");
  if (clip_per_sample_ > 0) clip(queue, range, clip_per_sample_ * static_cast<double>(step.samples));
  rule().update(queue, range, step, parameters);
  if (max_norm_ > 0) limit_weights(queue, parameters);
}

void Limited::limit_weights(backend::KernelQueue& queue, std::span<float> parameters) const {
  for (const core::Matrix& matrix : layout())
    if (!matrix.is_vector())
      queue.run(backend::LimitRowNorms{matrix.shape.rows, matrix.shape.columns, static_cast<float>(max_norm_),
                                       matrix.range().of(parameters)});
}

void Limited::clip(backend::KernelQueue& queue, core::Range range, double limit) {
  if (clips_norms_) return clip_norms(queue, limit);
  queue.run(backend::Clamp{static_cast<float>(limit), range.of(gradients())});
}

// Scaled by 1 if nothing is clipped: the work must not depend on values, which a device that only counts does not have.
void Limited::clip_norms(backend::KernelQueue& queue, double limit) {
  const auto factor = [&](double norm) { return norm > limit ? static_cast<float>(limit / norm) : 1.f; };
  if (together_) {
    double squares = 0;
    for (const core::Matrix& matrix : layout()) squares += queue.squared_norm(matrix.range().of(gradients()));
    return queue.run(backend::Scale{factor(std::sqrt(squares)), gradients()});
  }
  for (const core::Matrix& matrix : layout()) {
    const auto gradient = matrix.range().of(gradients());
    queue.run(backend::Scale{factor(std::sqrt(queue.squared_norm(gradient))), gradient});
  }
}

}  // namespace paragrad::optim
