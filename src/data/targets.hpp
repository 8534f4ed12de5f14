#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.hpp"
#include "data/tokens.hpp"

namespace paragrad::data {

/// What is said in each sequence of a subset, without when: what connectionist temporal classification learns from.
class Targets {
 public:
  /// Throws ConfigError for a sequence that has fewer frames than tokens, and one more for each that comes twice in a row,
  /// as no path of outputs says that.
  Targets(const Dataset& dataset, Subset subset, const Tokens& tokens);

  std::span<const std::int32_t> of(std::size_t sequence) const {
    return std::span(all_).subspan(starts_[sequence], starts_[sequence + 1] - starts_[sequence]);
  }
  std::size_t count(std::size_t first) const;  ///< tokens of the first so many sequences
  double mean() const;                         ///< tokens per sequence; 1 where there are none

 private:
  std::vector<std::int32_t> all_;
  std::vector<std::size_t> starts_{0};  // [sequences + 1]
};

}  // namespace paragrad::data
