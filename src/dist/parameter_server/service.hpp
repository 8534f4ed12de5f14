#pragma once

#include <deque>

#include "dist/parameter_server/messages.hpp"
#include "dist/parameter_server/server.hpp"

namespace paragrad::dist {

/// A server's requests, as messages: a loop that receives them from any worker and has them done, each when its turn comes.
/// A request that has to wait keeps nobody else waiting; the gradient that belongs to it stays at its worker meanwhile.
class Service {
 public:
  /// first_worker: the rank of worker 0. timeout_s: see ServerOptions.
  Service(Server& server, double timeout_s) : server_(server), timeout_s_(timeout_s) {}

  /// Until all workers have taken their leave. For a task that runs beside, or on a rank that does nothing else.
  void run(comm::Communicator& comm);

 private:
  bool over() const;
  Request receive(comm::Communicator& comm);
  bool serve_one(comm::Communicator& comm);
  bool has_turn(const Request& request) const;
  void serve(comm::Communicator& comm, const Request& request);
  void start(comm::Communicator& comm, const Request& request);
  void push(comm::Communicator& comm, const Request& request);
  void meet(comm::Communicator& comm, const Request& request);
  void answer_meeting(comm::Communicator& comm);
  void get_state(comm::Communicator& comm, int worker);
  void set_state(comm::Communicator& comm, int worker);
  void report(comm::Communicator& comm, int worker);
  void reply(comm::Communicator& comm, int worker, std::uint64_t number);
  void reply_with_parameters(comm::Communicator& comm, int worker, std::uint64_t version);

  Server& server_;
  double timeout_s_;
  std::deque<Request> waiting_;     // in the order of arrival
  std::vector<std::int32_t> came_;  // workers that wait for the others at the end of the sweep
  int gone_ = 0;                    // workers that have taken their leave
};

}  // namespace paragrad::dist
