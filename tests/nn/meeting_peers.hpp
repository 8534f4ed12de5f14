#pragma once

#include <array>
#include <barrier>
#include <functional>
#include <utility>
#include <vector>

#include "nn/replica_peers.hpp"
#include "tests/backend/double_device.hpp"

namespace paragrad::nn::testing {

constexpr std::size_t workers = 2;

/// Two workers, each on a thread, that show each other their arrays.
struct Meeting {
  struct Shown {
    backend::testing::DoubleDevice* device;
    std::span<float> array;
  };
  std::array<Shown, workers> shown;
  std::barrier<> all{workers};
};

class MeetingPeers : public ReplicaPeers {
 public:
  MeetingPeers(Meeting& meeting, std::size_t index, backend::testing::DoubleDevice& device)
      : meeting_(meeting), index_(index), device_(device) {}

  void run(const Kernels& kernels) override { kernels(device_); }
  void gather(std::span<const core::Range> parts, std::span<float> array) override {
    exchange(array, [&](std::size_t other, const Meeting::Shown& from) {
      for (std::size_t i = parts[other].begin; i < parts[other].end; ++i)
        received_.push_back({i, from.device->get(from.array[i])});
    });
  }
  void sum(std::span<const core::Range> parts, std::span<float> array) override {
    exchange(array, [&](std::size_t, const Meeting::Shown& from) {
      for (std::size_t i = parts[index_].begin; i < parts[index_].end; ++i)
        received_.push_back({i, device_.get(array[i]) + from.device->get(from.array[i])});
    });
  }

 private:
  void exchange(std::span<float> array, const std::function<void(std::size_t, const Meeting::Shown&)>& read) {
    meeting_.shown[index_] = {&device_, array};
    received_.clear();
    meeting_.all.arrive_and_wait();
    read(1 - index_, meeting_.shown[1 - index_]);
    meeting_.all.arrive_and_wait();
    for (const auto& [i, value] : received_) device_.put(array[i], value);
    meeting_.all.arrive_and_wait();
  }

  Meeting& meeting_;
  std::size_t index_;
  backend::testing::DoubleDevice& device_;
  std::vector<std::pair<std::size_t, double>> received_;
};

}  // namespace paragrad::nn::testing
