#include "optim/limited.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::optim {

Limited::Limited(const OptimiserOptions& options, std::unique_ptr<LocalOptimiser> rule, std::span<const core::Matrix> layout)
    : rule_(std::move(rule)),
      layout_(layout),
      clip_per_sample_(options.clip_per_sample),
      clips_norms_(options.clip_per_sample > 0 && options.clip == "norm"),
      max_norm_(options.max_norm) {}

void Limited::update(backend::Device& device, core::Range range, Step step, std::span<float> parameters) {
  if (needs_all() && range != core::Range{0, parameters.size()})
    throw std::logic_error("norms are limited of all parameters at once");
  if (clip_per_sample_ > 0) clip(device, range, clip_per_sample_ * static_cast<double>(step.samples));
  rule_->update(device, range, step, parameters);
  if (max_norm_ > 0) limit_weights(device, parameters);
}

void Limited::limit_weights(backend::Device& device, std::span<float> parameters) const {
  for (const core::Matrix& matrix : layout_)
    if (matrix.shape.columns > 1)
      device.limit_row_norms(matrix.shape.rows, matrix.shape.columns, static_cast<float>(max_norm_),
                             matrix.range().of(parameters));
}

void Limited::clip(backend::Device& device, core::Range range, double limit) {
  if (clips_norms_) return clip_norms(device, limit);
  device.clamp(static_cast<float>(limit), range.of(gradients()));
}

// Scaled by 1 if nothing is clipped: the work must not depend on values, which a device that only counts does not have.
void Limited::clip_norms(backend::Device& device, double limit) {
  for (const core::Matrix& matrix : layout_) {
    const auto gradient = matrix.range().of(gradients());
    const double norm = std::sqrt(device.squared_norm(gradient));
    device.scale(norm > limit ? static_cast<float>(limit / norm) : 1.f, gradient);
  }
}

}  // namespace paragrad::optim
