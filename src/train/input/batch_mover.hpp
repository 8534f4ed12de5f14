#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "backend/copy_stream.hpp"
#include "backend/device_array.hpp"
#include "data/batch.hpp"
#include "data/dataset.hpp"

namespace paragrad::train {

/// Makes minibatches of a split in device memory. The stored split is copied there while the device computes on the previous
/// one, and is decoded minibatch by minibatch, splicing context windows on the way. If the device uses host memory, splits
/// are not copied.
///
/// Device memory: two splits as stored, 12 bytes for each of their rows, and one minibatch of features.
class BatchMover {
 public:
  BatchMover(backend::Device& device, const data::DatasetInfo& info);

  /// Copies the next split. Called by the thread that read it, after advance() has been called for the previous one.
  void bring(const data::Split& split);

  /// Makes the split copied last the current one.
  void advance();

  /// `stored` must belong to the current split. The batch is valid until the next call and until the device has finished;
  /// its `active` stays in host memory. Does not wait for the device.
  data::Batch decode(const data::StoredBatch& stored);

 private:
  struct Copy {
    backend::DeviceArray<std::byte> stored;
    backend::DeviceArray<std::uint32_t> windows, rows;
    backend::DeviceArray<std::int32_t> labels;
    std::size_t bytes = 0;  // of `stored` used by this split
  };

  /// A batch's values in device memory: already there with the split, or uploaded into `own`.
  template <class T>
  std::span<const T> on_device(std::span<const T> values, const backend::DeviceArray<T>& of_split,
                               const data::StoredBatch& stored, backend::DeviceArray<T>& own);

  backend::Device& device_;
  core::Encoding encoding_;
  std::size_t frame_dim_, dim_;
  std::unique_ptr<backend::CopyStream> copy_stream_;  // null: the device uses host memory
  std::array<Copy, 2> splits_;                        // used in turn
  std::size_t current_ = 0;
  core::Arena features_;
  backend::DeviceArray<std::uint32_t> windows_, rows_;  // for minibatches whose rows are ordered differently in the split
  backend::DeviceArray<std::int32_t> labels_;
};

}  // namespace paragrad::train
