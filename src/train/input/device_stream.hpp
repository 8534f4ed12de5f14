#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>

#include "backend/copy_stream.hpp"
#include "backend/device_array.hpp"
#include "data/row_stream.hpp"

namespace paragrad::train {

/// Moves the samples of a stream into device memory. The stored split is copied there while the device computes on the
/// previous one, and is decoded minibatch by minibatch, splicing context windows on the way. If the device uses host memory,
/// splits are not copied.
///
/// Device memory: two splits as stored, 12 bytes and any columns for each of their rows, and one minibatch of features.
class DeviceStream : public data::SampleStream {
 public:
  /// Makes the stream in host memory, which calls the function it is given, if any, for each split.
  using MakeStored = std::function<std::unique_ptr<data::SampleStream>(data::RowStream::Arrival)>;

  DeviceStream(backend::Device& device, const data::DatasetInfo& info, const MakeStored& make_stored);

  std::size_t prefetch(data::SampleList samples) override { return stored_->prefetch(std::move(samples)); }
  void advance() override;

  /// The batch is valid until the next call and until the device has finished. Does not wait for the device.
  data::Batch next(std::size_t at_most) override;

  double waited_s() const override { return stored_->waited_s(); }

 private:
  struct Copy {
    backend::DeviceArray<std::byte> stored;
    backend::DeviceArray<std::uint32_t> windows, rows;
    backend::DeviceArray<std::int32_t> labels;
    data::PerColumn<backend::DeviceArray> columns;
    std::size_t bytes = 0;  // of `stored` used by this split
  };

  void copy(const data::Split& split);

  /// A batch's values in device memory, `width` for each row: already there with the split, or uploaded into `own`.
  template <class T>
  std::span<const T> on_device(std::span<const T> values, const backend::DeviceArray<T>& of_split,
                               const data::StoredFeatures& stored, backend::DeviceArray<T>& own, std::size_t width = 1);

  backend::Device& device_;
  core::Encoding encoding_;
  std::size_t frame_dim_, dim_;
  data::ColumnWidths widths_;
  std::unique_ptr<backend::CopyStream> copy_stream_;  // null: the device uses host memory
  std::array<Copy, 2> splits_;                        // used in turn
  std::size_t current_ = 0;
  core::Arena features_;
  backend::DeviceArray<std::uint32_t> windows_, rows_;  // for minibatches whose rows are ordered differently in the split
  backend::DeviceArray<std::int32_t> labels_, tokens_;
  data::PerColumn<backend::DeviceArray> columns_;
  std::unique_ptr<data::SampleStream> stored_;  // declared last: its thread uses the members above
};

}  // namespace paragrad::train
