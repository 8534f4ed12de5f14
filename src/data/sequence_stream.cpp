#include "data/sequence_stream.hpp"

#include <algorithm>
#include <utility>

namespace paragrad::data {

SequenceStream::SequenceStream(std::shared_ptr<const Dataset> dataset, Subset subset, Prefetcher& prefetcher,
                               std::shared_ptr<const Sequences> sequences, std::shared_ptr<const TokenSequences> tokens,
                               RowStream::Arrival arrival)
    : sequences_(std::move(sequences)),
      tokens_(std::move(tokens)),
      frames_(std::move(dataset), subset, prefetcher, std::move(arrival)) {}

std::size_t SequenceStream::prefetch(SampleList sequences) {
  SampleList frames;
  for (const std::uint32_t index : sequences.indices)
    for (std::uint32_t row = sequences_->at(index).begin; row < sequences_->at(index).end; ++row)
      frames.indices.push_back(row);
  frames.count = frames.indices.size();
  incoming_ = std::move(sequences.indices);
  return frames_.prefetch(std::move(frames));
}

void SequenceStream::advance() {
  frames_.advance();
  current_ = std::exchange(incoming_, {});
  position_ = 0;
}

// Returns the number of tokens.
std::size_t SequenceStream::label_tokens() {
  std::ranges::fill(labels_, no_label);
  std::size_t count = 0;
  for (std::size_t s = 0; s < packing_.order.size(); ++s) {
    std::size_t place = s, step = 0;
    for (const std::int32_t token : tokens_->of(packing_.order[s])) {
      labels_[place] = token;
      place += packing_.active[step++];
      ++count;
    }
  }
  return count;
}

Batch SequenceStream::next(std::size_t at_most) {
  const auto sequences = std::span<const std::uint32_t>(current_).subspan(position_);
  const auto taken = sequences.first(std::min(at_most, sequences.size()));
  position_ += taken.size();
  packing_ = pack(*sequences_, taken);
  const std::size_t frames = packing_.from.size();
  if (frames == 0) return {};
  const Batch flat = frames_.next(frames);
  windows_.resize(frames);
  labels_.resize(frames);
  rows_.resize(frames);
  for (std::size_t i = 0; i < frames; ++i) {
    const std::size_t from = packing_.from[i];
    windows_[i] = flat.stored.windows[from];
    labels_[i] = packing_.has_loss[i] ? flat.labels[from] : no_label;
    rows_[i] = flat.rows[from];
  }
  ColumnViews columns;
  const auto pack_column = [&]<class T>(const ColumnInfo<T>&, std::span<const T> all, std::vector<T>& mine,
                                        std::span<const T>& packed) {
    const std::size_t width = all.size() / frames;
    mine.resize(all.size());
    for (std::size_t i = 0; i < frames; ++i)
      std::ranges::copy(all.subspan(packing_.from[i] * width, width), mine.begin() + static_cast<std::ptrdiff_t>(i * width));
    packed = mine;
  };
  for_read_columns(pack_column, flat.columns, columns_, columns);
  const std::size_t scored = tokens_ ? label_tokens() : packing_.scored;
  return {.features = {},
          .labels = labels_,
          .columns = columns,
          .rows = rows_,
          .active = packing_.active,
          .frames_with_loss = scored,
          .stored = {.windows = windows_, .split = flat.stored.split}};
}

}  // namespace paragrad::data
