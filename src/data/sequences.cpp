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
      throw core::ConfigError(
          core::format("'{}' is not a valid chunking: give frames with context like 21-64+21, also with an overlap like "
                       "21-64+21/32, frames alone like 64, or whole",
                       text));
    return value;
  };
  const std::size_t slash = text.find('/'), minus = text.find('-'), plus = text.find('+');
  Chunking chunking;
  const std::string_view chunk = text.substr(0, slash);
  const std::size_t begin = minus == text.npos ? 0 : minus + 1;
  if (slash != text.npos) chunking.overlap = number(text.substr(slash + 1));
  if (minus != text.npos) chunking.before = number(chunk.substr(0, minus));
  if (plus != text.npos) chunking.after = number(chunk.substr(std::min(plus + 1, chunk.size())));
  chunking.frames = number(chunk.substr(std::min(begin, chunk.size()), plus == text.npos ? text.npos : plus - begin));
  if (chunking.frames == 0)
    throw core::ConfigError(core::format("'{}' has chunks of zero frames: give at least 1, or whole", text));
  if (chunking.overlap >= chunking.frames)
    throw core::ConfigError(
        core::format("the chunks of '{}' overlap completely: give less than {} after the slash", text, chunking.frames));
  return chunking;
}

Sequences::Sequences(const Dataset& dataset, Subset subset, const Chunking& chunking) : scored_before_{0} {
  const auto offsets = dataset.offsets(subset);
  const auto index = static_cast<std::size_t>(subset);
  if (offsets.empty() && dataset.info().samples[index] > 0)
    throw core::ConfigError(
        core::format("the samples of '{}' ({}) are not frames of sequences, which a recurrent model needs",
                     dataset.info().path, subset_names[index]));
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const auto first = static_cast<std::size_t>(offsets[s]), end = static_cast<std::size_t>(offsets[s + 1]);
    cut(first, end, chunking.frames == 0 ? Chunking{.frames = end - first} : chunking);
  }
}

// One sequence, of the rows [first, end).
void Sequences::cut(std::size_t first, std::size_t end, const Chunking& chunking) {
  const std::size_t before_border = chunking.overlap / 2;  // of what two neighbours share
  for (std::size_t at = first, scored_end = first; scored_end < end; at += chunking.stride()) {
    const std::size_t chunk_end = std::min(at + chunking.frames, end), scored_begin = scored_end;
    scored_end = chunk_end == end ? end : at + chunking.stride() + before_border;
    add({static_cast<std::uint32_t>(at - std::min(chunking.before, at - first)),
         static_cast<std::uint32_t>(std::min(chunk_end + chunking.after, end)), static_cast<std::uint32_t>(scored_begin),
         static_cast<std::uint32_t>(scored_end)});
  }
}

Sequences::Sequences(std::size_t rows, const Chunking& chunking) : scored_before_{0} {
  if (chunking.frames == 0)
    throw core::ConfigError(
        "a timing run reads no data, so it does not know the lengths of whole sequences: give `chunks` like 21-64+21");
  const auto number = [](std::size_t frames) { return static_cast<std::uint32_t>(frames); };
  const std::uint32_t all = number(chunking.before + chunking.frames + chunking.after);
  const std::uint32_t begin = number(chunking.before + chunking.overlap / 2), end = begin + number(chunking.stride());
  for (std::size_t at = 0; at < rows; at += chunking.stride()) add({0, all, begin, end});
}

Sequences::Sequences(const Windows& windows) : scored_before_{0} {
  for (std::size_t i = 0; i < windows.count(); ++i) {
    const std::uint32_t begin = windows.begin(i, 0), end = begin + static_cast<std::uint32_t>(windows.length());
    add({begin, end, begin + static_cast<std::uint32_t>(windows.first_scored(i)), end});
  }
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
    std::uint32_t index;
    std::uint32_t first;  // frame, among those of all
  };
  std::vector<Placed> placed;
  std::uint32_t frames = 0;
  for (const std::uint32_t index : sequences) {
    placed.push_back({&all.at(index), index, frames});
    frames += static_cast<std::uint32_t>(all.at(index).frames());
  }
  std::ranges::stable_sort(placed, std::ranges::greater{}, [](const Placed& one) { return one.sequence->frames(); });
  Packing packing;
  for (const Placed& one : placed) packing.order.push_back(one.index);
  for (std::uint32_t t = 0, left = static_cast<std::uint32_t>(placed.size());; ++t) {
    while (left > 0 && placed[left - 1].sequence->frames() <= t) --left;
    if (left == 0) break;
    packing.active.push_back(left);
    for (std::uint32_t s = 0; s < left; ++s) {
      const auto& [sequence, index, first] = placed[s];
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
