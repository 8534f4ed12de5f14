#pragma once

#include <memory>
#include <vector>

#include "data/loader.hpp"
#include "data/sequences.hpp"
#include "data/targets.hpp"

namespace paragrad::data {

/// A Loader whose samples are sequences: minibatches are their frames, packed as in Packing; context frames have no label.
/// With targets, the labels of a whole sequence are its tokens, stored in its first frames; the other frames have none.
class SequenceLoader {
 public:
  SequenceLoader(std::shared_ptr<const Dataset> dataset, Subset subset, Prefetcher& prefetcher,
                 std::shared_ptr<const Sequences> sequences, std::shared_ptr<const Targets> targets = nullptr,
                 Loader::Arrival arrival = {});

  void prefetch(std::vector<std::uint32_t> sequences);  ///< indices; at most one list ahead of the current one
  void advance();
  StoredBatch next(std::size_t at_most);  ///< sequences
  double waited_s() const { return frames_.waited_s(); }

 private:
  std::size_t label_tokens();

  std::shared_ptr<const Sequences> sequences_;
  std::shared_ptr<const Targets> targets_;
  Loader frames_;
  std::vector<std::uint32_t> current_, incoming_;
  std::size_t position_ = 0;  // in the current list
  Packing packing_;
  std::vector<std::uint32_t> windows_;
  std::vector<std::int32_t> labels_;
  std::vector<std::uint32_t> rows_;
};

}  // namespace paragrad::data
