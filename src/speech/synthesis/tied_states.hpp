#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "speech/synthesis/phones.hpp"

namespace paragrad::speech {

/// The context-dependent state of a frame: a phone state with the broad classes of the neighbouring phones.
struct ContextState {
  std::uint8_t left = 0;   ///< index into broad_names; silence beyond the ends of an utterance
  std::uint8_t state = 0;  ///< below phone_states
  std::uint8_t right = 0;

  bool operator==(const ContextState&) const = default;
};

inline constexpr std::size_t context_states = phone_states * broad_names.size() * broad_names.size();

/// 0 … context_states-1, ordered by state, then by left neighbour.
constexpr std::size_t index_of(ContextState context) {
  return (context.state * broad_names.size() + context.left) * broad_names.size() + context.right;
}

/// The context of each phone state. A phone ends when another phone follows or its states restart.
std::vector<ContextState> in_context(std::span<const std::uint8_t> states);

/// Tied context-dependent phone states. A context with at least N frames is a class of its own. The others are merged by one
/// neighbour (the right one for the last state of a phone, the left one for the states before it) if they then have N
/// frames; the rest of a state forms its last class, with any number of frames.
///
/// N is the smallest number that gives at most `most_classes`. Throws ConfigError for fewer classes than states.
class TiedStates {
 public:
  /// frames[context_states]: number of frames of each in the training set.
  TiedStates(std::span<const std::uint64_t> frames, std::size_t most_classes);

  std::uint64_t least_frames() const { return least_frames_; }  ///< N
  std::size_t count() const { return names_.size(); }
  std::int32_t class_of(ContextState context) const { return classes_[index_of(context)]; }

  /// [count]: "ah/0" for the rest of the first state of "ah", "ah/0 front_" after front vowels, "ah/2 _velar" before velars,
  /// "ah/0 front_labial" with both. The classes of a state are consecutive, and so are the states of a phone.
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::uint64_t least_frames_ = 0;
  std::vector<std::int32_t> classes_;  // [context_states]
  std::vector<std::string> names_;
};

}  // namespace paragrad::speech
