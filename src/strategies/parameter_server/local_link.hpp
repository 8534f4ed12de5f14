#pragma once

#include "backend/kernels/copy.hpp"
#include "strategies/parameter_server/link.hpp"

namespace paragrad::strategies {

/// For a single worker whose own rank holds all parameters: no messages.
class LocalLink : public Link {
 public:
  explicit LocalLink(Server& server) : server_(server) {}

  void start(comm::Communicator& comm, std::span<const core::Matrix> layout, std::span<const float> parameters) override {
    server_.start(comm.device(), {layout.begin(), layout.end()}, parameters.size());
    copy(comm, parameters, server_.shard().parameters());
  }
  void push(comm::Communicator& comm, const Versions& versions, const optim::Step& step,
            std::span<const float> gradient) override {
    copy(comm, gradient, server_.shard().gradient());
    server_.push(comm, {0, versions[0], step});
  }
  void fetch(comm::Communicator& comm, Versions& versions, std::span<float> parameters) override {
    if (!server_.may_fetch(0, versions[0])) throw std::logic_error("a lone worker would wait for others");
    versions[0] = server_.fetch(0);
    copy(comm, server_.shard().parameters(), parameters);
  }
  std::uint64_t take(comm::Communicator&, std::uint64_t done) override { return server_.take(0, done); }
  std::vector<int> meet(comm::Communicator& comm, Versions& versions, std::span<float> parameters) override {
    server_.meet(comm, 0);
    versions[0] = server_.shard().version();
    copy(comm, server_.shard().parameters(), parameters);
    return {};
  }
  std::vector<int> sum(comm::Communicator&, std::span<double>) override { return {}; }
  void get_state(comm::Communicator& comm, std::size_t, Shard& to) override { copy_state(comm, server_.shard(), to); }
  void set_state(comm::Communicator& comm, std::size_t, Shard& from) override { copy_state(comm, from, server_.shard()); }
  Statistics report(comm::Communicator&, std::vector<std::vector<Event>>& orders) override {
    orders = {server_.events()};
    return server_.statistics();
  }
  void leave(comm::Communicator&) override {}

 private:
  static void copy(comm::Communicator& comm, std::span<const float> from, std::span<float> to) {
    comm.run(backend::Copy{from, to});
  }
  static void copy_state(comm::Communicator& comm, Shard& from, Shard& to) {
    core::StateView source, target;
    from.describe_state(source);
    to.describe_state(target);
    for (std::size_t i = 0; i < source.arrays.size(); ++i) copy(comm, source.arrays[i].values, target.arrays[i].values);
    for (std::size_t i = 0; i < source.numbers.size(); ++i) target.numbers[i].set(source.numbers[i].get());
  }

  Server& server_;
};

}  // namespace paragrad::strategies
