#pragma once

#include "comm/wrappers/forwarding_communicator.hpp"

namespace paragrad::comm {

/// Wraps a communicator and counts what this worker adds.
class AdditionCounter : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;

  void add(std::span<const float> from, std::span<float> to) override {
    added_bytes_ += from.size_bytes();
    ForwardingCommunicator::add(from, to);
  }

  std::uint64_t added_bytes() const { return added_bytes_; }

 private:
  std::uint64_t added_bytes_ = 0;
};

}  // namespace paragrad::comm
