#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "speech/synthesis/phones.hpp"

namespace paragrad::speech {

/// What a frame is of: a state of a phone, between neighbours of whom the broad class matters.
struct ContextState {
  std::uint8_t left = 0;   ///< index into broad_names; beyond the ends of an utterance is silence
  std::uint8_t state = 0;  ///< below phone_states
  std::uint8_t right = 0;

  bool operator==(const ContextState&) const = default;
};

inline constexpr std::size_t context_states = phone_states * broad_names.size() * broad_names.size();

/// 0 … context_states-1; those of a state follow each other, among them those of a left neighbour.
constexpr std::size_t index_of(ContextState context) {
  return (context.state * broad_names.size() + context.left) * broad_names.size() + context.right;
}

/// For each item of phone states its context. A phone ends where another follows, or its states begin anew.
std::vector<ContextState> in_context(std::span<const std::uint8_t> states);

/// States of phones in context, tied. A context that has at least N frames is a class of its own. The others are taken
/// together by one neighbour, the right one for the last state of a phone and the left one for those before it, where they
/// then have N frames; and whatever is left of a state is its last class, of any number of frames.
///
/// N is the smallest that gives at most `most_classes`. Throws ConfigError for fewer classes than there are states.
class TiedStates {
 public:
  /// frames[context_states]: how many of each the training set has.
  TiedStates(std::span<const std::uint64_t> frames, std::size_t most_classes);

  std::uint64_t least_frames() const { return least_frames_; }  ///< N
  std::size_t count() const { return names_.size(); }
  std::int32_t class_of(ContextState context) const { return classes_[index_of(context)]; }

  /// [count]: "ah/0" for what is left of the first state of "ah", "ah/0 front_" after front vowels, "ah/2 _velar" before
  /// velars, "ah/0 front_labial" with both. The classes of a state follow each other, as its phone's states do.
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::uint64_t least_frames_ = 0;
  std::vector<std::int32_t> classes_;  // [context_states]
  std::vector<std::string> names_;
};

}  // namespace paragrad::speech
