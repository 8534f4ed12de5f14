#pragma once

#include <cstddef>

namespace paragrad::core {
class OptionList;
}

namespace paragrad::speech {

// Options of several commands that make a data file of speech.
void describe_mel_features(core::OptionList& list, std::size_t& bins, std::size_t& deltas);
void describe_frame_shift(core::OptionList& list, double& frame_shift_s);

}  // namespace paragrad::speech
