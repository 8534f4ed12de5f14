#pragma once

#include <optional>

#include "strategies/parameter_server/link.hpp"
#include "strategies/parameter_server/messages.hpp"

namespace paragrad::strategies {

/// A link over messages: shard i is at rank first_server + i, where a Service runs.
class MessageLink : public Link {
 public:
  /// timeout_s: a server that neither serves a request nor answers a ping for this long counts as lost.
  MessageLink(int worker, int first_server, std::vector<core::Range> shards, double timeout_s)
      : worker_(worker), first_server_(first_server), shards_(std::move(shards)), timeout_s_(timeout_s) {}

  void start(comm::Communicator& comm, std::span<const core::Matrix> layout, std::span<const float> parameters) override;
  void push(comm::Communicator& comm, const Versions& versions, const optim::Step& step,
            std::span<const float> gradient) override;
  void fetch(comm::Communicator& comm, Versions& versions, std::span<float> parameters) override;
  std::uint64_t take(comm::Communicator& comm, std::uint64_t done) override;
  std::vector<int> meet(comm::Communicator& comm, Versions& versions, std::span<float> parameters) override;
  std::vector<int> sum(comm::Communicator& comm, std::span<double> values) override;
  void get_state(comm::Communicator& comm, std::size_t index, Shard& copy) override;
  void set_state(comm::Communicator& comm, std::size_t index, Shard& copy) override;
  Statistics report(comm::Communicator& comm, std::vector<std::vector<Event>>& orders) override;
  void leave(comm::Communicator& comm) override;

 protected:
  /// Sends a request to the server.
  virtual void post(comm::Communicator& comm, std::size_t shard, const Request& request);
  virtual bool post_ping(comm::Communicator& comm, std::size_t shard);  ///< false: not possible in time

  int worker() const { return worker_; }
  int server(std::size_t shard) const { return first_server_ + static_cast<int>(shard); }
  const std::vector<core::Range>& shards() const { return shards_; }
  double timeout_s() const { return timeout_s_; }
  static constexpr double look_every_s() { return 1; }  ///< interval of checks that the server is still there
  Request request(Request::Kind kind, std::uint64_t number = 0) const {
    return {.kind = kind, .worker = worker_, .number = number};
  }
  Reply receive_reply(comm::Communicator& comm, std::size_t shard);
  [[noreturn]] void give_up(std::size_t shard) const;

 private:
  std::vector<Reply> ask(comm::Communicator& comm, Request::Kind kind, Versions& versions, std::span<float> parameters);
  std::uint64_t checked(std::uint64_t number) const;
  void wait(comm::Communicator& comm, comm::Request transfer, std::size_t shard);
  bool wait_for(comm::Communicator& comm, comm::Request transfer, std::size_t shard) const;
  std::optional<std::uint64_t> ping(comm::Communicator& comm, std::size_t shard);

  std::int32_t worker_;
  int first_server_;
  std::vector<core::Range> shards_;
  double timeout_s_;
};

}  // namespace paragrad::strategies
