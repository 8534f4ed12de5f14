#include "data/sequences.hpp"

#include <algorithm>
#include <charconv>
#include <functional>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::data {

Chunking parse_chunking(std::string_view text) {
  if (text == "whole") return {};
  const auto number = [&](std::string_view digits) {
    std::size_t value = 0;
    const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || rest != digits.data() + digits.size() || value > 1'000'000)
      throw core::ConfigError(core::format(
          "'{}' is no way to cut sequences: give frames with context like 21-64+21, frames alone, or whole", text));
    return value;
  };
  const std::size_t minus = text.find('-'), plus = text.find('+');
  Chunking chunking;
  const std::size_t begin = minus == text.npos ? 0 : minus + 1;
  if (minus != text.npos) chunking.before = number(text.substr(0, minus));
  if (plus != text.npos) chunking.after = number(text.substr(plus + 1));
  chunking.frames = number(text.substr(begin, plus == text.npos ? text.npos : plus - begin));
  if (chunking.frames == 0)
    throw core::ConfigError(core::format("'{}' has chunks of no frames: give 1 or more, or whole", text));
  return chunking;
}

Sequences::Sequences(const Dataset& dataset, Subset subset, const Chunking& chunking) : scored_before_{0} {
  const auto offsets = dataset.offsets(subset);
  const auto index = static_cast<std::size_t>(subset);
  if (offsets.empty() && dataset.info().samples[index] > 0)
    throw core::ConfigError(
        core::format("the samples of '{}' ({}) are no frames of sequences, which a recurrent model needs",
                     dataset.info().path, subset_names[index]));
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const auto first = static_cast<std::size_t>(offsets[s]), end = static_cast<std::size_t>(offsets[s + 1]);
    const std::size_t length = chunking.frames == 0 ? end - first : chunking.frames;
    for (std::size_t at = first; at < end; at += length) {
      const std::size_t scored_end = std::min(at + length, end);
      add({static_cast<std::uint32_t>(at - std::min(chunking.before, at - first)),
           static_cast<std::uint32_t>(std::min(scored_end + chunking.after, end)), static_cast<std::uint32_t>(at),
           static_cast<std::uint32_t>(scored_end)});
    }
  }
}

Sequences::Sequences(std::size_t rows, const Chunking& chunking) : scored_before_{0} {
  if (chunking.frames == 0)
    throw core::ConfigError("how long whole sequences are only a data file knows: give --data, or chunks like 21-64+21");
  const auto before = static_cast<std::uint32_t>(chunking.before), frames = static_cast<std::uint32_t>(chunking.frames),
             after = static_cast<std::uint32_t>(chunking.after);
  for (std::size_t at = 0; at < rows; at += chunking.frames) add({0, before + frames + after, before, before + frames});
}

void Sequences::add(const Sequence& sequence) {
  all_.push_back(sequence);
  scored_before_.push_back(scored_before_.back() + sequence.scored());
  longest_ = std::max(longest_, sequence.frames());
}

std::vector<std::uint32_t> Sequences::begins() const {
  std::vector<std::uint32_t> rows;
  for (const Sequence& sequence : all_) rows.push_back(sequence.scored_begin);
  return rows;
}

std::size_t Sequences::scored(std::size_t first) const {
  return static_cast<std::size_t>(scored_before_[std::min(first, count())]);
}

double Sequences::mean_scored() const {
  return count() == 0 ? 1 : static_cast<double>(scored_before_.back()) / static_cast<double>(count());
}

Packing pack(const Sequences& all, std::span<const std::uint32_t> sequences) {
  struct Placed {
    const Sequence* sequence;
    std::uint32_t first;  // frame, among those of all
  };
  std::vector<Placed> placed;
  std::uint32_t frames = 0;
  for (const std::uint32_t index : sequences) {
    placed.push_back({&all.at(index), frames});
    frames += static_cast<std::uint32_t>(all.at(index).frames());
  }
  std::ranges::stable_sort(placed, std::ranges::greater{}, [](const Placed& one) { return one.sequence->frames(); });
  Packing packing;
  for (std::uint32_t t = 0, left = static_cast<std::uint32_t>(placed.size());; ++t) {
    while (left > 0 && placed[left - 1].sequence->frames() <= t) --left;
    if (left == 0) break;
    packing.active.push_back(left);
    for (std::uint32_t s = 0; s < left; ++s) {
      const auto& [sequence, first] = placed[s];
      const std::uint32_t row = sequence->begin + t;
      const bool scored = row >= sequence->scored_begin && row < sequence->scored_end;
      packing.from.push_back(first + t);
      packing.has_loss.push_back(scored);
      packing.scored += scored ? 1 : 0;
    }
  }
  return packing;
}

}  // namespace paragrad::data
