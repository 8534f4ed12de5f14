#include "optim/decay_of_weights.hpp"

#include <algorithm>

namespace paragrad::optim {

// From the end to the beginning, as ranges come; neighbours that are treated alike are one range.
void DecayOfWeights::update(backend::KernelQueue& queue, core::Range range, Step step, std::span<float> parameters) {
  core::Range alike{range.end, range.end};
  bool vectors = false;
  const auto update_alike = [&] {
    if (!alike.empty()) rule().update(queue, alike, vectors ? without_decay(step) : step, parameters);
  };
  for (auto matrix = layout().rbegin(); matrix != layout().rend(); ++matrix) {
    const core::Range all = matrix->range();
    const core::Range here{std::max(all.begin, range.begin), std::min(all.end, range.end)};
    if (here.begin >= here.end) continue;
    if (matrix->is_vector() != vectors) {
      update_alike();
      alike.end = here.end;
      vectors = matrix->is_vector();
    }
    alike.begin = here.begin;
  }
  update_alike();
}

}  // namespace paragrad::optim
