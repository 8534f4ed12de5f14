#include "train/input/batch_mover.hpp"

#include <utility>

namespace paragrad::train {

BatchMover::BatchMover(backend::Device& device, const data::DatasetInfo& info)
    : device_(device),
      encoding_(info.encoding),
      frame_dim_(info.frame_dim()),
      dim_(info.dim),
      copy_stream_(device.is_host() ? nullptr : device.make_copy_stream()) {}

void BatchMover::bring(const data::Split& split) {
  if (!copy_stream_) return;
  Copy& next = splits_[1 - current_];
  const auto copy = [&]<class T>(const std::vector<T>& values, backend::DeviceArray<T>& there) {
    backend::DeviceArray<T> larger;
    if (there.size() < values.size()) larger = backend::DeviceArray<T>(device_, values.size());
    const bool grows = larger.size() > 0;
    copy_stream_->bring(std::span<const T>(values), (grows ? larger : there).span().first(values.size()));
    if (grows) there = std::move(larger);  // only now have the kernels finished with the old memory
  };
  copy(split.stored, next.stored);
  copy(split.windows, next.windows);
  copy(split.rows, next.rows);
  copy(split.labels, next.labels);
  next.bytes = split.stored.size();
}

void BatchMover::advance() {
  if (!copy_stream_) return;
  copy_stream_->follow();
  current_ = 1 - current_;
}

template <class T>
std::span<const T> BatchMover::on_device(std::span<const T> values, const backend::DeviceArray<T>& of_split,
                                         const data::StoredBatch& stored, backend::DeviceArray<T>& own) {
  if (!copy_stream_) return values;
  if (stored.rows_of_split) return stored.rows_of_split->of(of_split.span());
  if (own.size() < values.size()) {
    device_.finish();  // with the minibatch stored there
    own = backend::DeviceArray<T>(device_, values.size());
  }
  const std::span<T> there = own.span().first(values.size());
  device_.upload(values, there);
  return there;
}

data::Batch BatchMover::decode(const data::StoredBatch& stored) {
  data::Batch batch = stored.samples;
  if (batch.size() == 0) return batch;
  const Copy& split = splits_[current_];
  batch.labels = on_device(batch.labels, split.labels, stored, labels_);
  batch.rows = on_device(batch.rows, split.rows, stored, rows_);
  const std::span<const std::uint32_t> windows = on_device(stored.windows, split.windows, stored, windows_);
  if (features_.size() < batch.size() * dim_) {
    device_.finish();
    features_ = device_.allocate(batch.size() * dim_);
  }
  const std::span<float> features = features_.span().first(batch.size() * dim_);
  const std::span<const std::byte> frames =
      copy_stream_ ? split.stored.span().first(split.bytes) : std::span<const std::byte>(stored.split->stored);
  device_.decode(encoding_, frame_dim_, frames, windows, features);
  batch.features = features;
  return batch;
}

}  // namespace paragrad::train
