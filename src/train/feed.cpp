#include "train/feed.hpp"

#include <numeric>
#include <stdexcept>

namespace paragrad::train {

data::Batch ImaginaryBatches::next(std::size_t samples) const {
  const auto* labels = reinterpret_cast<const std::int32_t*>(labels_.span().data());
  return {features_.span().first(samples * dim_), {labels, samples}};
}

Feed::Feed(const Source& source, data::Subset subset, const backend::Device& device, std::size_t largest) {
  if (source.dataset)
    loader_.emplace(source.dataset, subset, *source.prefetcher);
  else if (device.computes())
    throw std::logic_error("a device that computes needs samples, not only their number");
  else
    imaginary_.emplace(device, source.info.dim, largest);
}

void Feed::prefetch(const std::vector<std::uint32_t>& rows) {
  if (loader_) loader_->prefetch(rows);
}

void Feed::prefetch(core::Range rows) {
  if (!loader_) return;
  std::vector<std::uint32_t> list(rows.size());
  std::iota(list.begin(), list.end(), static_cast<std::uint32_t>(rows.begin));
  loader_->prefetch(std::move(list));
}

void Feed::advance() {
  if (loader_) loader_->advance();
}

data::Batch Feed::next(std::size_t at_most) { return loader_ ? loader_->next(at_most) : imaginary_->next(at_most); }

}  // namespace paragrad::train
