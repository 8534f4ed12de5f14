#include "train/input/imaginary_stream.hpp"

namespace paragrad::train {

ImaginaryStream::ImaginaryStream(const backend::Device& device, std::size_t dim, std::size_t largest,
                                 std::optional<data::Sequence> all_alike, bool tokens)
    : dim_(dim), sequence_(all_alike) {
  const std::size_t rows = largest * rows_per_sample();
  if (tokens)
    tokens_ = backend::DeviceArray<std::int32_t>(device, rows);
  else
    features_ = device.allocate(dim * rows);
  labels_ = backend::DeviceArray<std::int32_t>(device, rows);
  rows_ = backend::DeviceArray<std::uint32_t>(device, rows);
}

data::Batch ImaginaryStream::next(std::size_t samples) {
  const std::size_t size = samples * rows_per_sample();
  data::Batch batch{.labels = labels_.span().first(size), .rows = rows_.span().first(size)};
  if (tokens_.size() > 0)
    batch.tokens = tokens_.span().first(size);
  else
    batch.features = features_.span().first(size * dim_);
  if (!sequence_ || samples == 0) return batch;
  active_.assign(sequence_->frames(), static_cast<std::uint32_t>(samples));
  batch.active = active_;
  batch.frames_with_loss = samples * sequence_->scored();
  return batch;
}

}  // namespace paragrad::train
