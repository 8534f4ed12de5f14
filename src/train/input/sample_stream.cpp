#include "train/input/sample_stream.hpp"

#include <numeric>
#include <stdexcept>

namespace paragrad::train {

namespace {

std::size_t bytes_as_stored(const data::DatasetInfo& info) { return info.frame_dim() * core::bytes_of(info.encoding.type); }

}  // namespace

SampleStream::SampleStream(const TrainingData& source, data::Subset subset, comm::Worker& worker,
                           const TrainingOptions& options, std::size_t largest)
    : worker_(worker), sample_bytes_(options.sample_bytes > 0 ? options.sample_bytes : bytes_as_stored(source.info)) {
  if (source.has_sequences()) sequences_ = source.sequences_of(subset);
  if (source.dataset)
    samples_.emplace(worker.device(), source, subset);
  else if (worker.device().computes())
    throw std::logic_error("a device that computes needs the samples, not only their number");
  else
    imaginary_.emplace(worker.device(), source.info.dim, largest,
                       sequences_ && sequences_->count() > 0 ? std::optional(sequences_->at(0)) : std::nullopt);
}

void SampleStream::prefetch(std::size_t samples, const std::vector<std::uint32_t>& rows) {
  wanted_bytes_ = std::uint64_t{rows_of(samples, rows)} * sample_bytes_;
  worker_.announce_read(wanted_bytes_);
  if (samples_) samples_->prefetch(rows);
}

void SampleStream::prefetch(core::Range rows) {
  std::vector<std::uint32_t> list(samples_ ? rows.size() : 0);
  std::iota(list.begin(), list.end(), static_cast<std::uint32_t>(rows.begin));
  prefetch(rows.size(), list);
}

// Frames of context are read with each chunk.
std::size_t SampleStream::rows_of(std::size_t samples, std::span<const std::uint32_t> list) const {
  if (!sequences_) return samples;
  if (list.empty()) return samples * sequences_->longest();
  std::size_t rows = 0;
  for (const std::uint32_t index : list) rows += sequences_->at(index).frames();
  return rows;
}

void SampleStream::advance() {
  worker_.await_read(wanted_bytes_);
  if (samples_) samples_->advance();
}

data::Batch SampleStream::next(std::size_t at_most) {
  return imaginary_ ? imaginary_->next(at_most) : samples_->next(at_most);
}

}  // namespace paragrad::train
