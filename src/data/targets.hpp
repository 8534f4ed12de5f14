#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.hpp"

namespace paragrad::data {

/// What can be said, in the order of the file's classes: the classes "seven/0", "seven/1", … are states of the token
/// "seven"; a class whose name has no such end, and one without a name, is a token with one state.
class Tokens {
 public:
  explicit Tokens(const DatasetInfo& info);

  std::size_t count() const { return names_.size(); }
  const std::string& name(std::size_t token) const { return names_[token]; }

  /// The tokens that labels of consecutive frames pass through. One begins where the token is another than before, or its
  /// state falls back; one of a single state is not seen to come twice in a row.
  std::vector<std::int32_t> in(std::span<const std::int32_t> labels) const;

 private:
  struct State {
    std::int32_t token;
    std::size_t number;
  };

  std::vector<std::string> names_;
  std::vector<State> of_class_;  // [classes]
};

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
