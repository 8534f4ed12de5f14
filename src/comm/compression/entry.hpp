#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "comm/compression/gradient_sum.hpp"

namespace paragrad::comm::compression {

/// A compression of compression/catalogue.def.
struct Entry {
  core::EntryInfo info;

  /// parameter: the text after the colon, "" if there is none.
  std::function<std::unique_ptr<GradientSum>(std::string_view parameter, const core::Settings&, std::uint64_t seed)> make;
};

// <name>_entry(), each in the file of the compression
#define COMPRESSION(name) Entry name##_entry();
#include "comm/compression/catalogue.def"
#undef COMPRESSION

/// Options of lossy compressions.
struct LossyOptions {
  bool error_feedback = true;
  double error_decay = 1;

  void describe(core::OptionList& list);

  /// Multiplies a kept error by the decay, before the next gradient is added.
  void fade(backend::KernelQueue& queue, std::span<float> residual) const;
};

/// Of those that encode pieces of a gradient.
struct CodecOptions : LossyOptions {
  bool gather_codes = false;

  void describe(core::OptionList& list);
};

/// The text after the colon as a number. Throws core::OptionError.
template <class T>
T parse_parameter(std::string_view text, const core::Limits<T>& limits) {
  return core::parse_number("compression", std::string(text), limits);
}

}  // namespace paragrad::comm::compression
