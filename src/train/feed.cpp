#include "train/feed.hpp"

#include <numeric>
#include <stdexcept>

namespace paragrad::train {

data::Batch ImaginaryBatches::next(std::size_t samples) const {
  const auto* labels = reinterpret_cast<const std::int32_t*>(labels_.span().data());
  const auto* rows = reinterpret_cast<const std::uint32_t*>(labels_.span().data());
  return {features_.span().first(samples * dim_), {labels, samples}, {rows, samples}};
}

namespace {

std::size_t bytes_as_stored(const data::DatasetInfo& info) {
  return info.frame_dim() * (info.feature_type == data::FeatureType::uint8 ? 1 : sizeof(float));
}

}  // namespace

Feed::Feed(const Source& source, data::Subset subset, comm::Worker& worker, const Options& options, std::size_t largest)
    : worker_(worker),
      io_(parse_io(options.io)),
      sample_bytes_(options.sample_bytes > 0 ? options.sample_bytes : bytes_as_stored(source.info)) {
  if (source.dataset)
    loader_.emplace(source.dataset, subset, *source.prefetcher);
  else if (worker.device().computes())
    throw std::logic_error("a device that computes needs samples, not only their number");
  else
    imaginary_.emplace(worker.device(), source.info.dim, largest);
}

void Feed::prefetch(std::size_t samples, const std::vector<std::uint32_t>& rows) {
  start_reading(samples);
  if (loader_) loader_->prefetch(rows);
}

void Feed::prefetch(core::Range rows) {
  start_reading(rows.size());
  if (!loader_) return;
  std::vector<std::uint32_t> list(rows.size());
  std::iota(list.begin(), list.end(), static_cast<std::uint32_t>(rows.begin));
  loader_->prefetch(std::move(list));
}

void Feed::start_reading(std::size_t samples) {
  wanted_bytes_ = std::uint64_t{samples} * sample_bytes_;
  if (io_ == Io::prefetch) worker_.start_read(wanted_bytes_);
}

void Feed::advance() {
  if (io_ == Io::blocking) worker_.start_read(wanted_bytes_);
  if (io_ != Io::none) worker_.finish_read();
  if (loader_) loader_->advance();
}

data::Batch Feed::next(std::size_t at_most) { return loader_ ? loader_->next(at_most) : imaginary_->next(at_most); }

}  // namespace paragrad::train
