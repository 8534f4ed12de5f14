#pragma once

#include <memory>
#include <optional>

#include "strategies/parameter_server/link.hpp"
#include "strategies/parameter_server/service.hpp"
#include "strategies/strategy.hpp"

namespace paragrad::strategies {

/// What strategies have in common whose parameters lie at servers: on ranks of their own, behind the workers', or each
/// worker's rank holds a part beside its replica. Every worker goes at its own pace through the minibatches of an epoch. At
/// its end they meet: that is a barrier per epoch, for one model to be evaluated, and none per minibatch.
///
/// Splits are taken from a queue at server 0 by whoever is free next (Share::epoch), one ahead, so that its samples can be
/// loaded: a slow worker then takes fewer, where with a share of its own it would hold up all at the meeting.
///
/// Transport: messages, or the one-sided windows of MPI's passive target, after they have been tried out
/// (comm/window_self_test.hpp). Windows only where the server never lets a fetch wait; a worker that dies with a lock takes
/// the run along. auto: windows, if they work and are read as fast as messages come.
///
/// Requests go through communication tasks, so the servers' work and the messages go on beside computing.
class ServerStrategy : public Strategy {
 public:
  explicit ServerStrategy(const StrategyOptions& options);
  ~ServerStrategy() override;

  Share share() const override { return options_.queue ? Share::epoch : Share::block; }
  bool exchanges_gradients(int) const override { return true; }
  bool meets_at_blocks() const override { return false; }
  bool has_servers() const override { return true; }
  Remarks explain(const Extent& extent) const override;
  Remarks report(comm::Worker& worker) override;
  void start(comm::Worker& worker, Replica& replica) override;
  std::size_t take(comm::Worker& worker) override;
  bool add_up(comm::Worker& worker, std::span<double> values) override;
  void synchronise(comm::Worker& worker, Replica& replica, std::size_t samples) override;
  void serve(comm::Worker& all_ranks, int workers) override;
  void describe_state(core::StateView& state) override;
  void collect_state(comm::Worker& worker, Replica& replica) override;
  void spread_state(comm::Worker& worker, Replica& replica) override;

 protected:
  virtual std::unique_ptr<Policy> make_policy(int workers) const = 0;

  /// Whether a server may let a fetch wait.
  virtual bool holds_fetches() const { return false; }

  /// By which servers apply what they are sent.
  virtual optim::OptimiserOptions rule() const { return options_.rule; }

  /// Into which the parameters are cut, each at a server of its own.
  virtual std::size_t shards(int workers) const {
    return static_cast<std::size_t>(options_.servers > 0 ? options_.servers : workers);
  }

  /// More that speaks against such a run. Throws ConfigError.
  virtual void check(int /*workers*/) const {}

  const ServerOptions& options() const { return options_; }
  Link& link() { return *link_; }
  Versions& versions() { return versions_; }  ///< of the parameters that the worker computes with

  /// Has talk(communicator) done as a communication task; launched tasks of before have then ended too.
  void talk(comm::Worker& worker, const comm::Worker::Task& talk) {
    launch(worker, talk);
    join(worker);
  }
  static void launch(comm::Worker& worker, const comm::Worker::Task& talk);
  static void join(comm::Worker& worker) { worker.all_ranks().join(); }

  /// The end of the epoch: the same parameters for all, and an epoch begins.
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
  std::unique_ptr<comm::Window> window_;
  std::string transport_;           // what was found out about it
  std::unique_ptr<Server> server_;  // of this rank, where it holds a shard
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
