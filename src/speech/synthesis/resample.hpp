#pragma once

#include <span>
#include <vector>

namespace paragrad::speech {

/// Stretches a signal to `factor` times its length at the same rate, floor(factor · samples): all frequencies, including
/// pitch and formants, are divided by the factor, as for a longer vocal tract. Band-limited: a sinc with cutoff at the lower
/// of the two Nyquist frequencies, with a Hann window of 16 samples (24 if the factor is below 1). Throws std::logic_error
/// for a factor outside 2/3 … 2.
std::vector<float> resample(std::span<const float> signal, double factor);

}  // namespace paragrad::speech
