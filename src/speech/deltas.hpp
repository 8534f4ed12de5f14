#pragma once

#include <cstddef>

#include "speech/matrix.hpp"

namespace paragrad::speech {

/// Appends to each frame its derivatives up to `order`, as Kaldi's add-deltas does: [frames][dim] -> [frames][(order+1)
/// dim]. The first is the regression over 2·window+1 frames, d[t] = sum_j j x[t+j] / sum_j j²; the next is that of the last,
/// worked out as one filter over x, so that at the ends it is x whose first and last frame repeat, not d.
Features add_deltas(const Features& features, std::size_t order = 2, std::size_t window = 2);

}  // namespace paragrad::speech
