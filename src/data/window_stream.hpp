#pragma once

#include <memory>
#include <vector>

#include "data/row_stream.hpp"
#include "data/text_windows.hpp"

namespace paragrad::data {

/// Samples that are windows of a text: the rows of a minibatch are all first tokens, all second tokens, …, and the label of
/// each is the token after it. Row numbers count through the windows of the subset.
class WindowStream : public SampleStream {
 public:
  WindowStream(std::shared_ptr<const Dataset> dataset, Subset subset, Prefetcher& prefetcher, const Windows& windows,
               RowStream::Arrival arrival = {});

  std::size_t prefetch(SampleList windows) override;
  void advance() override;
  Batch next(std::size_t at_most) override;
  double waited_s() const override { return tokens_.waited_s(); }

 private:
  core::NumberType type_;
  Windows windows_;
  RowStream tokens_;
  std::vector<std::uint32_t> current_, incoming_;
  std::size_t position_ = 0;  // in the current list

  // of a minibatch
  std::vector<std::int32_t> inputs_, labels_;
  std::vector<std::uint32_t> rows_, active_;
};

}  // namespace paragrad::data
