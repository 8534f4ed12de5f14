#include <cmath>

#include "backend/cpu/bodies.hpp"
#include "backend/cpu/softmax.hpp"

namespace paragrad::backend::cpu {

namespace {

/// Whether `largest` stands at the label and nowhere before it.
bool is_first_largest(const float* row, std::size_t label, float largest) {
  if (!(row[label] == largest)) return false;
  for (std::size_t j = 0; j < label; ++j)
    if (row[j] == largest) return false;
  return true;
}

}  // namespace

void run(Workspace&, const SoftmaxCrossEntropy& kernel) {
  const std::size_t classes = kernel.classes;
  add_rows(classes, kernel.labels, kernel.weights, kernel.logits, kernel.into,
           [&](std::size_t label, float* row, LossSum& total) {
             const float largest = largest_of(classes, row);
             const bool right = is_first_largest(row, label, largest);
             const float wanted = target_output(classes, label, largest, row, kernel.smoothing);
             const float sum = exponentiate(classes, largest, row);
             total.errors += !right || std::isnan(sum);
             total.loss += std::log(static_cast<double>(sum)) - static_cast<double>(wanted);
             const float inverse = 1.f / sum, of_each = kernel.smoothing / static_cast<float>(classes);
             transform(
                 classes, row, [&](Vector e) { return e * inverse - of_each; }, row);
             row[label] -= 1.f - kernel.smoothing;
           });
}

}  // namespace paragrad::backend::cpu
