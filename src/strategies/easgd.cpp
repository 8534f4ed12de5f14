#include "strategies/easgd.hpp"

#include "backend/kernels/copy.hpp"
#include "backend/kernels/descend.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::strategies {

Easgd::Easgd(const StrategyOptions& options) : ServerStrategy(options) {
  if (const double rate = options.server.elastic_rate; !(rate >= 0 && rate < 1))
    throw core::ConfigError(core::format("elastic rate {} is outside [0, 1)", rate));
}

void Easgd::check(int) const {
  if (options().prefetch || options().fetch_every != 1)
    throw core::ConfigError(
        "easgd fetches the centre when it pushes, every --push-every minibatches: leave out --prefetch and --fetch-every");
}

void Easgd::start(comm::Worker& worker, Replica& replica) {
  ServerStrategy::start(worker, replica);
  centre_ = worker.device().allocate(replica.parameters.size());
  difference_ = worker.device().allocate(replica.parameters.size());
  minibatches_ = 0;
}

void Easgd::step(comm::Worker& worker, Replica& replica) {
  replica.optimiser.begin_step();
  worker.run_kernels([&](backend::KernelQueue& queue) {
    replica.optimiser.update(queue, {0, replica.parameters.size()}, replica.step, replica.parameters);
  });
  if (++minibatches_ < static_cast<double>(options().push_every)) return;
  minibatches_ = 0;
  pull(worker, replica);
}

void Easgd::pull(comm::Worker& worker, Replica& replica) {
  const double rate = options().elastic_rate > 0 ? options().elastic_rate : 0.9 / worker.size();
  const auto alpha = static_cast<float>(rate);
  talk(worker, [&](comm::Communicator& comm) { link().fetch(comm, versions(), centre_.span()); });
  worker.run_kernels([&](backend::KernelQueue& queue) {
    queue.run(backend::Copy{replica.parameters, difference_.span()});
    queue.run(backend::Descend{1, 0, centre_.span(), difference_.span()});
    queue.run(backend::Descend{alpha, 0, difference_.span(), replica.parameters});
  });
  talk(worker, [&](comm::Communicator& comm) { link().push(comm, versions(), {.rate = -alpha}, difference_.span()); });
}

void Easgd::show_model(comm::Worker& worker, Replica& replica) {
  worker.run_kernels([&](backend::KernelQueue& queue) { queue.run(backend::Copy{replica.parameters, difference_.span()}); });
  meet(worker, replica.parameters);
}

void Easgd::resume_work(comm::Worker& worker, Replica& replica) {
  worker.run_kernels([&](backend::KernelQueue& queue) { queue.run(backend::Copy{difference_.span(), replica.parameters}); });
}

void Easgd::describe_state(core::StateView& state) {
  ServerStrategy::describe_state(state);
  state.add("minibatches", minibatches_);
}

}  // namespace paragrad::strategies
