#include "strategies/parameter_server/server_options.hpp"

namespace paragrad::strategies {

void ServerOptions::describe(core::OptionList& list) {
  list.group("Parameter server");
  list.number("servers", servers, {.least = 0, .most = 100000},
              "number of dedicated server ranks, numbered after the workers (0: each worker's rank serves a part of the "
              "parameters)")
      .off("0");
  list.choice("work", queue, {{"queue", true}, {"own", false}},
              "assignment of splits: queue, to the next free worker, or own, a fixed split of every block for each worker");
  list.choice("server-transport", transport,
              {{"messages", Transport::messages}, {"windows", Transport::windows}, {"auto", Transport::automatic}},
              "access to the servers: messages, windows (one-sided, unless servers delay fetches), or auto (windows if they "
              "work and are as fast)");
  list.number("worker-timeout", worker_timeout_s, {.least = 0, .most = 1e9, .without_least = true},
              "seconds after which a worker that keeps all others waiting is dropped");
  list.uses("record");
  list.uses("replay");
}

void PushOptions::describe(core::OptionList& list) {
  ServerOptions::describe(list);
  list.number("push-every", push_every, core::a_minibatch, "minibatches whose gradients are pushed together");
  list.number("fetch-every", fetch_every, core::a_minibatch, "minibatches between two fetches of the parameters");
  list.flag("prefetch", prefetch, "fetch the next parameters while a minibatch is computed");
}

}  // namespace paragrad::strategies
