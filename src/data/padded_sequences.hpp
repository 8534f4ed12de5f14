#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "data/npy.hpp"

namespace paragrad::data {

/// Arrays [sequences][frames][…], of which each sequence uses only its first frames, as arrays of the frames that are used.
class PaddedSequences {
 public:
  /// lengths: of each sequence; if it is empty, it is set to the number of frames. Throws ConfigError if x has another form.
  /// name: of the lengths, for messages.
  PaddedSequences(const NpyArray& x, std::vector<std::size_t>& lengths, const std::string& name);

  /// Those of x. Valid, like all arrays made here, until the next one is made.
  NpyArray features(const NpyArray& x) { return x.rows(kept_, 2, storage_); }

  /// Whether the array has a value for each sequence, the same for all of its frames, not for each frame.
  bool has_value_of_sequence(const NpyArray& array) const;

  /// A value for each frame that is used. Throws ConfigError if the array has neither form.
  NpyArray values(const NpyArray& array);

 private:
  std::size_t sequences_, frames_;
  std::vector<std::size_t> kept_, sequence_of_;  // numbers of frames, and of the sequences that they belong to
  std::vector<std::byte> storage_;
};

}  // namespace paragrad::data
