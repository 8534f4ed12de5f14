#include "speech/feature_options.hpp"

#include "core/options.hpp"

namespace paragrad::speech {

void describe_mel_features(core::OptionList& list, std::size_t& bins, std::size_t& deltas) {
  list.number("bins", bins, {.least = 1, .most = 4096}, "number of mel filters");
  list.number("deltas", deltas, {.least = 0, .most = 4}, "orders of time derivatives of the mel features to append");
}

void describe_frame_shift(core::OptionList& list, double& frame_shift_s) {
  list.quantity("frame-shift", frame_shift_s, core::Unit::time, "time from one frame to the next, above 0")
      .unless(!(frame_shift_s > 0), "must be above 0");
}

}  // namespace paragrad::speech
