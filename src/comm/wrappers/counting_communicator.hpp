#pragma once

#include "comm/wrappers/forwarding_communicator.hpp"

namespace paragrad::comm {

/// Wraps a communicator and counts what this worker sends and adds.
class CountingCommunicator : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;

  Request start_send(int to, int tag, std::span<const std::byte> data) override {
    ++messages_;
    bytes_ += data.size();
    return ForwardingCommunicator::start_send(to, tag, data);
  }
  void add(std::span<const float> from, std::span<float> to) override {
    added_bytes_ += from.size_bytes();
    ForwardingCommunicator::add(from, to);
  }

  std::uint64_t messages() const { return messages_; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t added_bytes() const { return added_bytes_; }

 private:
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t added_bytes_ = 0;
};

}  // namespace paragrad::comm
