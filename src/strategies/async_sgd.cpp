#include "strategies/async_sgd.hpp"

#include <utility>

#include "backend/kernels/add.hpp"
#include "backend/kernels/copy.hpp"
#include "backend/kernels/descend.hpp"
#include "core/errors.hpp"

namespace paragrad::strategies {

void AsyncSgd::check(int) const {
  if (has_limits_ && goes_ahead())
    throw core::ConfigError(
        "servers enforce limits on gradients and weights, but a worker's own local steps do not: with `clip-gradient` or "
        "`max-norm` give `push-every` 1 and `fetch-every` 1, and a strategy other than lazy_sgd");
}

void AsyncSgd::start(comm::Worker& worker, Replica& replica) {
  ServerStrategy::start(worker, replica);
  sum_ = worker.device().allocate(replica.parameters.size());
  if (options().prefetch) coming_ = worker.device().allocate(replica.parameters.size());
  minibatches_ = since_fetch_ = 0;
  comes_ = false;
}

void AsyncSgd::step(comm::Worker& worker, Replica& replica) {
  join(worker);  // the exchange that ran during this minibatch
  const Versions used = versions();
  const bool fetch = ++since_fetch_ >= options().fetch_every;
  if (fetch) since_fetch_ = 0;
  if (std::exchange(comes_, false)) {
    worker.run(backend::Copy{coming_.span(), replica.parameters});
    take_in(worker, replica);
  }
  if (!fetch) descend(worker, replica, replica.optimiser.gradients(), replica.step.rate);
  add_up(worker, replica, used);
  exchange(worker, replica, due(worker, replica), fetch);
}

void AsyncSgd::add_up(comm::Worker& worker, Replica& replica, const Versions& used) {
  own_rate_ = replica.step.rate;
  if (minibatches_++ == 0) {
    replica.optimiser.swap_gradients(sum_);
    step_ = replica.step;
    first_ = used;
    return;
  }
  worker.run(backend::Add{replica.optimiser.gradients(), sum_.span()});
  step_ = optim::joined(replica.step, step_, momentum_unit());
}

void AsyncSgd::descend(comm::Worker& worker, Replica& replica, std::span<float> gradient, float rate) {
  worker.run(backend::Descend{rate, 0, gradient, replica.parameters});
}

// Takes in fetched parameters, reapplying what has not been pushed.
void AsyncSgd::take_in(comm::Worker& worker, Replica& replica) {
  versions() = coming_versions_;
  if (minibatches_ > 0) descend(worker, replica, sum_.span(), own_rate_);
}

// Requests of a worker are served in their order: a fetch sees the push before it.
void AsyncSgd::exchange(comm::Worker& worker, Replica& replica, bool push, bool fetch) {
  if (!push && !fetch) return;
  const bool ahead = options().prefetch;
  if (fetch) coming_versions_ = versions();
  launch(worker, [this, push, fetch, to = ahead ? coming_.span() : replica.parameters](comm::Communicator& comm) {
    if (push) link().push(comm, first_, step_, sum_.span());
    if (fetch) link().fetch(comm, coming_versions_, to);
  });
  if (push) minibatches_ = 0;
  comes_ = ahead && fetch;
  if (ahead) return;
  join(worker);
  if (fetch) take_in(worker, replica);
}

void AsyncSgd::show_model(comm::Worker& worker, Replica& replica) {
  join(worker);
  if (std::exchange(minibatches_, 0) > 0)
    launch(worker, [this](comm::Communicator& comm) { link().push(comm, first_, step_, sum_.span()); });
  meet(worker, replica.parameters);
  since_fetch_ = 0;
  comes_ = false;
}

StrategyEntry async_sgd_entry() {
  return entry_of<AsyncSgd, PushOptions>({.name = "async_sgd",
                                          .summary = "push gradients to a parameter server without waiting",
                                          .source = "Downpour SGD, Dean et al., NIPS 2012"},
                                         Share::epoch);
}

}  // namespace paragrad::strategies
