#pragma once

#include <span>
#include <vector>

namespace paragrad::speech {

/// The signal `factor` times as long at the same rate, floor(factor · samples): all frequencies go down by the factor, so
/// pitch and formants do, as of a longer vocal tract. Band-limited: a sinc, cut
/// at the lower of both Nyquist frequencies, under a Hann window of 16 samples (24 where the factor is below 1). Throws
/// std::logic_error for a factor outside 2/3 … 2.
std::vector<float> resample(std::span<const float> signal, double factor);

}  // namespace paragrad::speech
