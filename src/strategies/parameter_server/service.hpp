#pragma once

#include <deque>
#include <map>
#include <optional>

#include "core/arena.hpp"
#include "strategies/parameter_server/messages.hpp"
#include "strategies/parameter_server/server.hpp"

namespace paragrad::strategies {

/// A server's requests, as messages: a loop that receives them from any worker and has them done, each when its turn comes.
/// A request that has to wait keeps nobody else waiting; the gradient that belongs to it stays at its worker meanwhile.
///
/// Where some workers wait (for a slower one, or at the end of the epoch) and for timeout_s no request comes, those that do
/// not wait are left out, and those known to be gone at once; so is a worker that does not take or bring what it announced.
/// Worker 0 leads and cannot be left out: then the service fails. An order that is to be kept knows of no time: there nobody
/// is left out.
class Service {
 public:
  Service(Server& server, double timeout_s);
  virtual ~Service() = default;

  /// Until all workers have taken their leave. For a task that runs beside, or on a rank that does nothing else.
  void run(comm::Communicator& comm);

 protected:
  // Where requests come in another way than as messages.
  virtual std::optional<Request> receive_within(comm::Communicator& comm, double limit_s);
  virtual void serve(comm::Communicator& comm, const Request& request);
  virtual bool receive_gradient(comm::Communicator& comm, int worker);  ///< false: it did not come

  Server& server() { return server_; }

 private:
  struct Client {
    bool waiting = false;  // for a reply
    bool gone = false;     // has taken its leave
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
  void get_state(comm::Communicator& comm, int worker);
  void set_state(comm::Communicator& comm, int worker);
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
  std::deque<Request> waiting_;                         // in the order of arrival
  std::vector<std::int32_t> came_;                      // workers that wait for the others at the end of the epoch
  std::map<std::int32_t, std::vector<double>> to_sum_;  // of workers that wait for the sums
  Request incoming_;
  double quiet_since_s_ = 0;
  std::optional<comm::Request> receive_;  // of the next request, under way
  std::vector<core::Arena> given_up_;     // that a worker which was left out might still write into
};

}  // namespace paragrad::strategies
