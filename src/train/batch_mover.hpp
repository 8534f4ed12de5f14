#pragma once

#include <cstdint>

#include "backend/device_array.hpp"
#include "data/loader.hpp"

namespace paragrad::train {

/// Brings minibatches into memory of a device. Where that is the host's, they stay where they are.
class BatchMover {
 public:
  explicit BatchMover(backend::Device& device) : device_(device) {}

  /// Valid until the next call, and until the device has finished; `active` stays the host's. Does not wait for the device.
  data::Batch bring(data::Batch batch) {
    if (device_.is_host()) return batch;
    copy(batch.features, features_);
    copy(batch.labels, labels_);
    copy(batch.rows, rows_);
    return batch;
  }

 private:
  template <class T>
  void copy(std::span<const T>& values, backend::DeviceArray<T>& array) {
    if (array.size() < values.size()) {
      device_.finish();  // with the minibatch that lies there
      array = backend::DeviceArray<T>(device_, values.size());
    }
    const std::span<T> to = array.span().first(values.size());
    device_.upload(values, to);
    values = to;
  }

  backend::Device& device_;
  backend::DeviceArray<float> features_;
  backend::DeviceArray<std::int32_t> labels_;
  backend::DeviceArray<std::uint32_t> rows_;
};

}  // namespace paragrad::train
