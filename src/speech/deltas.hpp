#pragma once

#include <cstddef>

#include "speech/matrix.hpp"

namespace paragrad::speech {

/// Appends to each frame its derivatives up to `order`, as Kaldi's add-deltas does: [frames][dim] -> [frames][(order+1)
/// dim]. The first is the regression over 2·window+1 frames, d[t] = sum_j j x[t+j] / sum_j j²; each further one is the
/// regression of the previous one, computed as a single filter over x, so that at the ends x is repeated, not d.
Features add_deltas(const Features& features, std::size_t order = 2, std::size_t window = 2);

}  // namespace paragrad::speech
