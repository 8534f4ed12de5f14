#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "backend/copy_stream.hpp"
#include "backend/device_array.hpp"
#include "data/batch.hpp"
#include "data/dataset.hpp"

namespace paragrad::train {

/// Makes minibatches of splits in a device's memory. A split is brought there as it is stored while the device computes on
/// the one before, and decoded minibatch by minibatch, windows being spliced as they are decoded. Where the device's memory
/// is the host's, splits stay where they are.
///
/// Memory of the device: two splits as stored, 12 bytes per row of them, and one minibatch of features.
class BatchMover {
 public:
  BatchMover(backend::Device& device, const data::DatasetInfo& info);

  /// The next split. By the thread that has read it; not before advance() has been called for the one before.
  void bring(const data::Split& split);

  /// What was brought last is the current split from now on.
  void advance();

  /// `stored` must be of the current split. Valid until the next call, and until the device has finished; `active` stays
  /// the host's. Does not wait for the device.
  data::Batch decode(const data::StoredBatch& stored);

 private:
  struct Copy {
    backend::DeviceArray<std::byte> stored;
    backend::DeviceArray<std::uint32_t> windows, rows;
    backend::DeviceArray<std::int32_t> labels;
    std::size_t bytes = 0;  // of `stored` that are this split's
  };

  /// Where what a batch has of a split's rows lies in the device's memory: there already, or to be uploaded.
  template <class T>
  std::span<const T> on_device(std::span<const T> values, const backend::DeviceArray<T>& of_split,
                               const data::StoredBatch& stored, backend::DeviceArray<T>& own);

  backend::Device& device_;
  core::Encoding encoding_;
  std::size_t frame_dim_, dim_;
  std::unique_ptr<backend::CopyStream> copy_stream_;  // none: the device's memory is the host's
  std::array<Copy, 2> splits_;                        // used in turn
  std::size_t current_ = 0;
  core::Arena features_;
  backend::DeviceArray<std::uint32_t> windows_, rows_;  // of minibatches whose rows do not lie in the split as they do here
  backend::DeviceArray<std::int32_t> labels_;
};

}  // namespace paragrad::train
