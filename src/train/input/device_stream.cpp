#include "train/input/device_stream.hpp"

#include <utility>

namespace paragrad::train {

DeviceStream::DeviceStream(backend::Device& device, const data::DatasetInfo& info, const MakeStored& make_stored)
    : device_(device),
      encoding_(info.encoding),
      frame_dim_(info.frame_dim()),
      dim_(info.dim),
      widths_(info.widths),
      copy_stream_(device.is_host() ? nullptr : device.make_copy_stream()),
      stored_(make_stored(copy_stream_ ? [this](const data::Split& split) { copy(split); } : data::RowStream::Arrival{})) {}

// Called by the thread that has read the split.
void DeviceStream::copy(const data::Split& split) {
  Copy& next = splits_[1 - current_];
  const auto bring = [&]<class T>(const std::vector<T>& values, backend::DeviceArray<T>& there) {
    backend::DeviceArray<T> larger;
    if (there.size() < values.size()) larger = backend::DeviceArray<T>(device_, values.size());
    const bool grows = larger.size() > 0;
    copy_stream_->bring(std::span<const T>(values), (grows ? larger : there).span().first(values.size()));
    if (grows) there = std::move(larger);  // only now have the kernels finished with the old memory
  };
  bring(split.stored, next.stored);
  bring(split.windows, next.windows);
  bring(split.rows, next.rows);
  bring(split.labels, next.labels);
  data::for_read_columns([&](const auto&, const auto& values, auto& there) { bring(values, there); }, split.columns,
                         next.columns);
  next.bytes = split.stored.size();
}

void DeviceStream::advance() {
  stored_->advance();
  if (!copy_stream_) return;
  copy_stream_->follow();
  current_ = 1 - current_;
}

template <class T>
std::span<const T> DeviceStream::on_device(std::span<const T> values, const backend::DeviceArray<T>& of_split,
                                           const data::StoredFeatures& stored, backend::DeviceArray<T>& own,
                                           std::size_t width) {
  if (!copy_stream_ || width == 0) return values;
  if (const auto rows = stored.rows_of_split) return core::Range{rows->begin * width, rows->end * width}.of(of_split.span());
  if (own.size() < values.size()) {
    device_.finish();  // with the minibatch stored there
    own = backend::DeviceArray<T>(device_, values.size());
  }
  const std::span<T> there = own.span().first(values.size());
  device_.upload(values, there);
  return there;
}

data::Batch DeviceStream::next(std::size_t at_most) {
  data::Batch batch = stored_->next(at_most);
  if (batch.size() == 0) return batch;
  const data::StoredFeatures stored = std::exchange(batch.stored, {});
  const Copy& split = splits_[current_];
  batch.labels = on_device(batch.labels, split.labels, stored, labels_);
  const auto bring = [&](const auto&, auto& values, const auto& of_split, auto& own, std::size_t width) {
    values = on_device(values, of_split, stored, own, width);
  };
  data::for_read_columns(bring, batch.columns, split.columns, columns_, widths_);
  batch.rows = on_device(batch.rows, split.rows, stored, rows_);
  if (!batch.tokens.empty()) {
    batch.tokens = on_device(batch.tokens, backend::DeviceArray<std::int32_t>{}, stored, tokens_);
    return batch;
  }
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
