#pragma once

#include <deque>
#include <map>
#include <optional>

#include "core/arena.hpp"
#include "strategies/parameter_server/messages.hpp"
#include "strategies/parameter_server/server.hpp"

namespace paragrad::strategies {

/// The request loop of a server: receives requests from any worker as messages and serves each when its turn comes. A
/// request that has to wait does not block others; its gradient stays at the worker meanwhile.
///
/// If some workers wait (for a slower one, or at the end of the epoch) and no request arrives for timeout_s, the workers
/// that do not wait are dropped; those known to be gone are dropped at once, as is a worker that does not complete a
/// transfer it announced. Worker 0 leads and cannot be dropped: its loss makes the service fail. When an order is replayed,
/// time does not matter and no worker is dropped.
class Service {
 public:
  Service(Server& server, double timeout_s);
  virtual ~Service() = default;

  /// Runs until all workers have left. For a concurrent service, or a dedicated server rank.
  void run(comm::Communicator& comm);

 protected:
  // Overridden if requests do not arrive as messages.
  virtual std::optional<Request> receive_within(comm::Communicator& comm, double limit_s);
  virtual void serve(comm::Communicator& comm, const Request& request);
  virtual bool receive_gradient(comm::Communicator& comm, int worker);  ///< false: it did not arrive

  Server& server() { return server_; }

 private:
  struct Client {
    bool waiting = false;  // for a reply
    bool gone = false;     // has left
  };

  bool over() const;
  std::optional<Request> receive(comm::Communicator& comm);
  void take_in(comm::Communicator& comm, const Request& request);
  bool somebody_is_missed() const;
  void lose_the_silent(comm::Communicator& comm);
  std::vector<int> those_who_do_not_wait() const;
  void lose(comm::Communicator& comm, int worker);
  bool serve_one(comm::Communicator& comm);
  bool has_turn(const Request& request) const;
  void do_serve(comm::Communicator& comm, const Request& request);
  void turn_away(comm::Communicator& comm, const Request& request);
  void start(comm::Communicator& comm, const Request& request);
  void push(comm::Communicator& comm, const Request& request);
  void meet(comm::Communicator& comm, const Request& request);
  void answer_meeting(comm::Communicator& comm);
  void sum(comm::Communicator& comm, const Request& request);
  void answer_sums(comm::Communicator& comm);
  void ping(comm::Communicator& comm, int worker);
  void report(comm::Communicator& comm, int worker);
  void send(comm::Communicator& comm, int worker, int tag, std::span<const std::byte> data);
  void send_lost(comm::Communicator& comm, int worker, const std::vector<std::int32_t>& lost);
  bool finish(comm::Communicator& comm, comm::Request transfer, int worker) const;
  void reply(comm::Communicator& comm, int worker, std::uint64_t number);
  void reply_with_parameters(comm::Communicator& comm, int worker, std::uint64_t version);
  Client& client(int worker) { return clients_[static_cast<std::size_t>(worker)]; }

  Server& server_;
  double timeout_s_;
  std::vector<Client> clients_;
  std::deque<Request> waiting_;                         // in order of arrival
  std::vector<std::int32_t> came_;                      // workers waiting for the others at the end of the epoch
  std::map<std::int32_t, std::vector<double>> to_sum_;  // values of workers waiting for the sums
  Request incoming_;
  double quiet_since_s_ = 0;
  std::optional<comm::Request> receive_;  // pending receive of the next request
  std::vector<core::Arena> given_up_;     // buffers that a dropped worker might still write to
};

}  // namespace paragrad::strategies
