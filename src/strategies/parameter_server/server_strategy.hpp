#pragma once

#include <memory>
#include <optional>

#include "strategies/parameter_server/link.hpp"
#include "strategies/parameter_server/service.hpp"
#include "strategies/strategy.hpp"

namespace paragrad::strategies {

/// Base of strategies that keep their parameters at servers: on dedicated ranks after the workers' ranks, or in parts on the
/// workers' ranks, next to their replicas. Every worker processes the minibatches of an epoch at its own pace. At the end of
/// the epoch they meet, so that one model can be evaluated: one barrier per epoch, none per minibatch.
///
/// Workers take splits from a queue at server 0 as they become free (Share::epoch), one in advance, so that its samples can
/// be loaded. A slow worker thus takes fewer splits; with a fixed share it would delay all others at the meeting.
///
/// Transport: messages, or one-sided windows (MPI passive target) after a self-test (comm/window_self_test.hpp). Windows
/// require that the server never makes a fetch wait; a worker that dies holding a lock ends the run. auto: windows, if they
/// work and reading them is as fast as messages.
///
/// Requests are sent from communication tasks, so messages and the servers' work overlap with computation.
class ServerStrategy : public ServedStrategy {
 public:
  ServerStrategy(const ServerOptions& options, const ServerContext& context);
  ~ServerStrategy() override;

  bool exchanges(int) const override { return true; }
  Remarks explain(const Extent& extent) const override;
  Remarks report(comm::Worker& worker) override;
  void start(comm::Worker& worker, Replica& replica) override;
  std::size_t take(comm::Worker& worker) override;
  bool add_up(comm::Worker& worker, std::span<double> values) override;
  void synchronise(comm::Worker& worker, Replica& replica, std::size_t samples) override;
  void serve(comm::Worker& all_ranks, int workers) override;
  void describe_state(core::StateView& state) override;
  void hand_over(comm::Worker& worker, Replica& replica) override;
  void collect_state(comm::Worker& worker, Replica& replica) override;
  void spread_state(comm::Worker& worker, Replica& replica) override;

 protected:
  virtual std::unique_ptr<Policy> make_policy(int workers) const = 0;

  /// Whether a server may make a fetch wait.
  virtual bool holds_fetches() const { return false; }

  /// The update rule with which servers apply what they receive.
  virtual optim::OptimiserOptions rule() const { return context_.rule; }

  /// The number of shards of the parameters, each at its own server.
  virtual std::size_t shards(int workers) const {
    return static_cast<std::size_t>(options_.servers > 0 ? options_.servers : workers);
  }

  /// Further checks of the strategy's options. Throws ConfigError.
  virtual void check(int /*workers*/) const {}

  int servers() const { return options_.servers; }
  optim::MomentumUnit momentum_unit() const { return context_.momentum; }
  Link& link() { return *link_; }
  Versions& versions() { return versions_; }  ///< of the parameters the worker computes with

  /// Runs talk(communicator) as a communication task and waits for it and for all tasks launched before.
  void talk(comm::Worker& worker, const comm::Worker::Task& talk) {
    launch(worker, talk);
    join(worker);
  }
  static void launch(comm::Worker& worker, const comm::Worker::Task& talk);
  static void join(comm::Worker& worker) { worker.all_ranks().join(); }

  /// The end of an epoch: all workers get the same parameters, and the next epoch begins.
  void meet(comm::Worker& worker, std::span<float> parameters);

 private:
  bool leave_out(comm::Worker& worker, const std::vector<int>& lost);
  void connect(comm::Worker& worker, Replica& replica);
  bool choose_windows(comm::Worker& all_ranks);
  void tell_sizes(comm::Communicator& comm, int first_server) const;
  void open_window(comm::Worker& all_ranks, int workers, std::size_t parameters);
  void close_window(bool all_there);
  void make_service(std::size_t index, std::size_t parameters);
  const std::vector<Event>* given_order(std::size_t server) const;
  std::unique_ptr<Server> make_server(int workers, std::size_t index) const;

  ServerOptions options_;
  ServerContext context_;
  std::unique_ptr<comm::Window> window_;
  std::string transport_;           // the chosen transport and why
  std::unique_ptr<Server> server_;  // of this rank, if it holds a shard
  std::unique_ptr<Service> service_;
  std::unique_ptr<Link> link_;
  std::vector<core::Range> shards_;
  Versions versions_;
  std::uint64_t done_ = 0;  // splits of this worker in the epoch

  std::size_t lost_ = 0;                                                // workers
  std::vector<std::pair<std::size_t, std::unique_ptr<Shard>>> copies_;  // of shards whose state this worker keeps
  std::vector<double> kept_versions_;
};

}  // namespace paragrad::strategies
