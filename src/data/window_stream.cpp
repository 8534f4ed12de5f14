#include "data/window_stream.hpp"

#include <algorithm>
#include <utility>

#include "data/sequences.hpp"

namespace paragrad::data {

WindowStream::WindowStream(std::shared_ptr<const Dataset> dataset, Subset subset, Prefetcher& prefetcher,
                           const Windows& windows, RowStream::Arrival arrival)
    : type_(dataset->info().encoding.type),
      windows_(windows),
      tokens_(std::move(dataset), subset, prefetcher, std::move(arrival)) {}

std::size_t WindowStream::prefetch(SampleList windows) {
  SampleList tokens;
  for (const std::uint32_t index : windows.indices) {
    const std::uint32_t begin = windows_.begin(index, windows.epoch);
    for (std::uint32_t t = 0; t <= windows_.length(); ++t) tokens.indices.push_back(begin + t);
  }
  tokens.count = tokens.indices.size();
  incoming_ = std::move(windows.indices);
  return tokens_.prefetch(std::move(tokens));
}

void WindowStream::advance() {
  tokens_.advance();
  current_ = std::exchange(incoming_, {});
  position_ = 0;
}

Batch WindowStream::next(std::size_t at_most) {
  const std::size_t count = std::min(at_most, current_.size() - position_), length = windows_.length();
  if (count == 0) return {};
  const Batch flat = tokens_.next(count * (length + 1));
  inputs_.resize(count * length);
  labels_.resize(count * length);
  rows_.resize(count * length);
  active_.assign(length, static_cast<std::uint32_t>(count));
  const auto token = [&](std::size_t place) {
    return core::token_at(type_, flat.stored.split->stored.data() + flat.stored.windows[place] * core::bytes_of(type_));
  };
  std::size_t scored = 0;
  for (std::size_t w = 0; w < count; ++w) {
    const std::size_t index = current_[position_ + w], first = w * (length + 1), unscored = windows_.first_scored(index);
    for (std::size_t t = 0; t < length; ++t) {
      const std::size_t row = t * count + w;
      inputs_[row] = token(first + t);
      labels_[row] = t < unscored ? no_label : token(first + t + 1);
      rows_[row] = static_cast<std::uint32_t>(index * length + t);
    }
    scored += length - unscored;
  }
  position_ += count;
  return {.features = {},
          .labels = labels_,
          .rows = rows_,
          .tokens = inputs_,
          .active = active_,
          .frames_with_loss = scored,
          .stored = {.split = flat.stored.split}};
}

}  // namespace paragrad::data
