#include "data/padded_sequences.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"

namespace paragrad::data {

PaddedSequences::PaddedSequences(const NpyArray& x, std::vector<std::size_t>& lengths, const std::string& name) {
  if (x.shape.size() != 3 || x.elements() == 0)
    throw core::ConfigError(
        core::format("the array '{}' has the shape {}: `layout` sequences is for sequences x frames x features", x.name,
                     core::join(x.shape, "x")));
  sequences_ = x.shape[0];
  frames_ = x.shape[1];
  if (lengths.empty()) lengths.assign(sequences_, frames_);
  if (lengths.size() != sequences_ || std::ranges::max(lengths) > frames_)
    throw core::ConfigError(core::format("the lengths '{}' do not fit '{}', which has {} sequences of {} frames", name,
                                         x.name, sequences_, frames_));
  for (std::size_t s = 0; s < sequences_; ++s)
    for (std::size_t t = 0; t < lengths[s]; ++t) {
      kept_.push_back(s * frames_ + t);
      sequence_of_.push_back(s);
    }
}

bool PaddedSequences::has_value_of_sequence(const NpyArray& array) const {
  return array.shape.size() == 1 && array.shape[0] == sequences_;
}

NpyArray PaddedSequences::values(const NpyArray& array) {
  if (has_value_of_sequence(array)) return array.rows(sequence_of_, 1, storage_);
  if (array.shape.size() < 2 || array.shape[0] != sequences_ || array.shape[1] != frames_)
    throw core::ConfigError(
        core::format("the array '{}' has the shape {}, but there are {} sequences of {} frames: give a value for each "
                     "frame, or one for each sequence",
                     array.name, core::join(array.shape, "x"), sequences_, frames_));
  return array.rows(kept_, 2, storage_);
}

}  // namespace paragrad::data
