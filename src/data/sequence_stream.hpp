#pragma once

#include <memory>
#include <vector>

#include "data/row_stream.hpp"
#include "data/sequences.hpp"
#include "data/token_sequences.hpp"

namespace paragrad::data {

/// Samples that are sequences: minibatches are their frames, packed as in Packing; context frames have no label. With
/// tokens, the labels of a whole sequence are its tokens, stored in its first frames; the other frames have none.
class SequenceStream : public SampleStream {
 public:
  SequenceStream(std::shared_ptr<const Dataset> dataset, Subset subset, Prefetcher& prefetcher,
                 std::shared_ptr<const Sequences> sequences, std::shared_ptr<const TokenSequences> tokens = nullptr,
                 RowStream::Arrival arrival = {});

  std::size_t prefetch(SampleList sequences) override;
  void advance() override;
  Batch next(std::size_t at_most) override;
  double waited_s() const override { return frames_.waited_s(); }

 private:
  std::size_t label_tokens();

  std::shared_ptr<const Sequences> sequences_;
  std::shared_ptr<const TokenSequences> tokens_;
  RowStream frames_;
  std::vector<std::uint32_t> current_, incoming_;
  std::size_t position_ = 0;  // in the current list
  Packing packing_;
  std::vector<std::uint32_t> windows_;
  std::vector<std::int32_t> labels_;
  ColumnValues columns_;
  std::vector<std::uint32_t> rows_;
};

}  // namespace paragrad::data
