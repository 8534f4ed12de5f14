#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "sim/network/network.hpp"
#include "sim/simulation.hpp"

namespace paragrad::sim {

/// Wraps a network and reports each message to an observer once its arrival time is known.
class WatchedNetwork : public Network, private Delivery {
 public:
  WatchedNetwork(Engine& engine, std::unique_ptr<Network> inner, std::function<void(const Transfer&)> on_transfer)
      : engine_(engine), inner_(std::move(inner)), on_transfer_(std::move(on_transfer)) {}

  Time start(int from, int to, std::int64_t bytes, Delivery& receiver, std::uint64_t message) override;
  Time latency(int from, int to) const override { return inner_->latency(from, to); }
  Time pass_host_memory(int rank, std::int64_t bytes) override { return inner_->pass_host_memory(rank, bytes); }
  BusiestLink busiest(Time now) const override { return inner_->busiest(now); }

 private:
  struct Flight {
    Transfer transfer;
    Delivery* receiver = nullptr;
    std::uint64_t message = 0;
    int untold = 0;  // outstanding Delivery calls
  };

  void arrives(std::uint64_t flight, Time at) override;
  void sent(std::uint64_t flight, Time at) override;
  void told(std::uint64_t flight);

  Engine& engine_;
  std::unique_ptr<Network> inner_;
  std::function<void(const Transfer&)> on_transfer_;
  std::vector<Flight> flights_;
  std::vector<std::uint64_t> unused_;
};

}  // namespace paragrad::sim
