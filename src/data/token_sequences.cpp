#include "data/token_sequences.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::data {

TokenSequences::TokenSequences(const Dataset& dataset, Subset subset, const ReadTokens& tokens_of) {
  const auto offsets = dataset.offsets(subset);
  const auto names = dataset.utterances(subset);
  std::vector<std::int32_t> labels;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    labels.clear();
    for (std::int64_t row = offsets[s]; row < offsets[s + 1]; ++row)
      labels.push_back(dataset.label(subset, static_cast<std::size_t>(row)));
    const std::vector<std::int32_t> said = tokens_of(labels);
    std::size_t repeats = 0;
    for (std::size_t i = 1; i < said.size(); ++i) repeats += said[i] == said[i - 1];
    if (labels.size() < said.size() + repeats)
      throw core::ConfigError(core::format(
          "sequence {} of '{}' ({}) has {} frames for {} tokens, {} of them repeats of the one before; ctc needs at least "
          "{} frames: leave the sequence out",
          names.empty() ? core::format("{}", s) : core::format("'{}'", names[s]), dataset.info().path,
          subset_names[static_cast<std::size_t>(subset)], labels.size(), said.size(), repeats, said.size() + repeats));
    all_.insert(all_.end(), said.begin(), said.end());
    starts_.push_back(all_.size());
  }
}

std::size_t TokenSequences::count(std::size_t first) const { return starts_[std::min(first, starts_.size() - 1)]; }

double TokenSequences::mean() const {
  return all_.empty() ? 1 : static_cast<double>(all_.size()) / static_cast<double>(starts_.size() - 1);
}

}  // namespace paragrad::data
