#include "speech/synthesis/utterance.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "speech/deltas.hpp"
#include "speech/normalise.hpp"
#include "speech/synthesis/random_streams.hpp"

namespace paragrad::speech {
namespace {

struct PackedSizes {
  std::size_t speaker, frames, dim;
};

template <class T>
void append(std::string& bytes, const T* values, std::size_t count) {
  bytes.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

template <class T>
void take(std::string_view& bytes, T* values, std::size_t count) {
  std::memcpy(values, bytes.data(), count * sizeof(T));
  bytes.remove_prefix(count * sizeof(T));
}

Features normalised(Features features) {
  FeatureStatistics statistics(features.columns);
  statistics.add(features);
  statistics.normalise(features);
  return features;
}

}  // namespace

std::string GeneratedUtterance::pack() const {
  const PackedSizes sizes{speaker.size(), features.rows, features.columns};
  std::string bytes;
  bytes.reserve(sizeof sizes + speaker.size() + features.values.size() * sizeof(float) + states.size() * sizeof states[0]);
  append(bytes, &sizes, 1);
  append(bytes, speaker.data(), speaker.size());
  append(bytes, features.values.data(), features.values.size());
  append(bytes, states.data(), states.size());
  return bytes;
}

GeneratedUtterance GeneratedUtterance::unpack(std::string_view bytes) {
  PackedSizes sizes{};
  take(bytes, &sizes, 1);
  GeneratedUtterance utterance;
  utterance.speaker.resize(sizes.speaker);
  take(bytes, utterance.speaker.data(), sizes.speaker);
  utterance.features = Features(sizes.frames, sizes.dim);
  take(bytes, utterance.features.values.data(), utterance.features.values.size());
  utterance.states.resize(sizes.frames);
  take(bytes, utterance.states.data(), sizes.frames);
  return utterance;
}

std::vector<ContextState> states_of_frames(std::span<const std::uint8_t> states, double factor, std::size_t frames,
                                           std::size_t length, std::size_t shift) {
  const auto contexts = in_context(states);
  std::vector<ContextState> result;
  for (std::size_t t = 0; t < frames; ++t) {
    const double middle = static_cast<double>(t * shift) + static_cast<double>(length) / 2;
    const auto item = static_cast<std::size_t>(std::lround(middle / (factor * static_cast<double>(samples_per_item))));
    result.push_back(contexts[std::min(contexts.size() - 1, item)]);
  }
  return result;
}

Speaker::Speaker(const Options& options, std::vector<std::string> sentences)
    : options_(options),
      frame_{.sample_rate = voice_sample_rate},
      cutter_(frame_),
      fbank_({.frame = frame_, .bins = options.bins}),
      sentences_(std::move(sentences), options.seed, options.subset) {
  for (const auto& name : options.voices) voices_.emplace_back(name);
}

GeneratedUtterance Speaker::say(std::uint64_t index) {
  const auto draws = draws_of(options_.seed, Draw::variation, options_.subset);
  const auto noise = draws_of(options_.seed, Draw::noise, options_.subset);
  const auto variation = draw_variation(draws, index, voices_.size(), options_.held_out);
  const auto& sentence = sentences_[index];
  const auto spoken = voices_[variation.voice].say(sentence, variation.manner, variation.id);
  Features features = fbank_(vary(spoken.samples, variation, noise, index));
  if (features.rows == 0) throw core::ConfigError(core::format("the sentence '{}' is shorter than one frame", sentence));
  if (options_.deltas > 0) features = add_deltas(features, options_.deltas);
  auto states =
      states_of_frames(spoken.states, warp_factor(variation.warp), features.rows, cutter_.length(), cutter_.shift());
  return {speaker_name(options_.voices[variation.voice], variation), normalised(std::move(features)), std::move(states)};
}

}  // namespace paragrad::speech
