#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "data/dataset.hpp"

namespace paragrad::data {

/// The tokens that the labels of consecutive frames pass through, such as speech::Tokens::in.
using ReadTokens = std::function<std::vector<std::int32_t>(std::span<const std::int32_t> labels)>;

/// The token sequence of each sequence of a subset, without timing: the targets of connectionist temporal classification.
class TokenSequences {
 public:
  /// Throws ConfigError for a sequence with fewer frames than its tokens plus one for each repeated neighbour, as no path
  /// of outputs can produce it.
  TokenSequences(const Dataset& dataset, Subset subset, const ReadTokens& tokens_of);

  std::span<const std::int32_t> of(std::size_t sequence) const {
    return std::span(all_).subspan(starts_[sequence], starts_[sequence + 1] - starts_[sequence]);
  }
  std::size_t count(std::size_t first) const;  ///< tokens of the first `first` sequences
  double mean() const;                         ///< tokens per sequence; 1 if there are none

 private:
  std::vector<std::int32_t> all_;
  std::vector<std::size_t> starts_{0};  // [sequences + 1]
};

}  // namespace paragrad::data
