#include "train/input/device_loader.hpp"

#include <utility>

namespace paragrad::train {

DeviceLoader::DeviceLoader(backend::Device& device, const TrainingData& source, data::Subset subset)
    : mover_(device, source.info) {
  const auto bring = [this](const data::Split& split) { mover_.bring(split); };
  if (source.has_sequences())
    sequences_.emplace(source.dataset, subset, *source.prefetcher, source.sequences_of(subset), source.targets_of(subset),
                       bring);
  else
    rows_.emplace(source.dataset, subset, *source.prefetcher, bring);
}

void DeviceLoader::prefetch(std::vector<std::uint32_t> samples) {
  sequences_ ? sequences_->prefetch(std::move(samples)) : rows_->prefetch(std::move(samples));
}

void DeviceLoader::advance() {
  sequences_ ? sequences_->advance() : rows_->advance();
  mover_.advance();
}

data::Batch DeviceLoader::next(std::size_t at_most) {
  stored_ = sequences_ ? sequences_->next(at_most) : rows_->next(at_most);
  return mover_.decode(stored_);
}

}  // namespace paragrad::train
