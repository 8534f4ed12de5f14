#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "speech/fbank.hpp"
#include "speech/synthesis/sentences.hpp"
#include "speech/synthesis/tied_states.hpp"
#include "speech/synthesis/variation.hpp"

namespace paragrad::speech {

/// A generated utterance as stored in a data file, except that its states are not tied yet.
struct GeneratedUtterance {
  std::string speaker{};
  Features features{};                 ///< [frames][dim]
  std::vector<ContextState> states{};  ///< [frames]

  std::string pack() const;  ///< serialised, to send it to another process of the same program
  static GeneratedUtterance unpack(std::string_view bytes);
};

/// The states of a voice at the middle of each of the `frames` of its sound, after stretching by `factor`; frame length and
/// shift are in samples.
std::vector<ContextState> states_of_frames(std::span<const std::uint8_t> states, double factor, std::size_t frames,
                                           std::size_t length, std::size_t shift);

/// The speaker of the utterances of one subset.
class Speaker {
 public:
  struct Options {
    std::vector<std::string> voices;
    std::size_t bins = 40;
    std::size_t deltas = 0;
    std::uint64_t seed = 1;
    std::uint32_t subset = 0;
    bool held_out = false;  ///< use speakers that are not in the training set
  };
  Speaker(const Options& options, std::vector<std::string> sentences);

  /// The same for the same index, whatever was generated before.
  GeneratedUtterance say(std::uint64_t index);

 private:
  Options options_;
  FrameOptions frame_;
  FrameCutter cutter_;
  Fbank fbank_;
  SentenceOrder sentences_;
  std::vector<Voice> voices_;
};

}  // namespace paragrad::speech
