#include "backend/kernels/copy.hpp"
#include "backend/kernels/descend.hpp"
#include "core/arena.hpp"
#include "strategies/parameter_server/server_strategy.hpp"

namespace paragrad::strategies {

namespace {

struct ElasticOptions : ServerOptions {
  std::size_t push_every = 1;  // τ
  double rate = 0;             // α; 0: 0.9 divided by the number of workers

  void describe(core::OptionList& list) {
    ServerOptions::describe(list);
    list.number("push-every", push_every, core::a_minibatch, "minibatches between two exchanges with the centre");
    list.number("elastic-rate", rate, core::below_one, "elastic rate alpha (0: 0.9 divided by the number of workers)");
  }
};

/// Asynchronous elastic averaging SGD (Zhang, Choromanska and LeCun, NIPS 2015): workers x_i train independently with the
/// local optimiser (with `nesterov` this is the paper's EAMSGD). Every τ = push_every minibatches a worker and the centre c,
/// held by the servers, move towards each other:
///
///   e = α (x_i - c);  x_i = x_i - e;  c = c + e
///
/// with α = 0.9/N unless given (the paper's β = 0.9). Between the two halves another worker may move the centre; the
/// reported staleness counts these moves. The centre is the model that is evaluated and returned.
class Easgd : public ServerStrategy {
 public:
  Easgd(const ElasticOptions& options, const StrategyContext& context)
      : ServerStrategy(options, context.server), options_(options) {}

  void start(comm::Worker& worker, Replica& replica) override;
  void step(comm::Worker& worker, Replica& replica) override;
  void show_model(comm::Worker& worker, Replica& replica) override;
  void resume_work(comm::Worker& worker, Replica& replica) override;
  void describe_state(core::StateView& state) override;

 protected:
  std::unique_ptr<Policy> make_policy(int) const override { return std::make_unique<Policy>(); }
  optim::OptimiserOptions rule() const override { return {.name = "sgd"}; }

 private:
  void pull(comm::Worker& worker, Replica& replica);

  ElasticOptions options_;
  core::Arena centre_;      // as fetched
  core::Arena difference_;  // x_i - c; between show_model and resume_work x_i
  double minibatches_ = 0;  // since the last pull; a double, for the StateView
};

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
  if (++minibatches_ < static_cast<double>(options_.push_every)) return;
  minibatches_ = 0;
  pull(worker, replica);
}

void Easgd::pull(comm::Worker& worker, Replica& replica) {
  const double rate = options_.rate > 0 ? options_.rate : 0.9 / worker.size();
  const auto alpha = static_cast<float>(rate);
  talk(worker, [&](comm::Communicator& comm) { link().fetch(comm, versions(), centre_.span()); });
  worker.run(backend::Copy{replica.parameters, difference_.span()},
             backend::Descend{1, 0, centre_.span(), difference_.span()},
             backend::Descend{alpha, 0, difference_.span(), replica.parameters});
  talk(worker, [&](comm::Communicator& comm) { link().push(comm, versions(), {.rate = -alpha}, difference_.span()); });
}

void Easgd::show_model(comm::Worker& worker, Replica& replica) {
  worker.run(backend::Copy{replica.parameters, difference_.span()});
  meet(worker, replica.parameters);
}

void Easgd::resume_work(comm::Worker& worker, Replica& replica) {
  worker.run(backend::Copy{difference_.span(), replica.parameters});
}

void Easgd::describe_state(core::StateView& state) {
  ServerStrategy::describe_state(state);
  state.add("minibatches", minibatches_, core::Rescale::own);
}

}  // namespace

StrategyEntry easgd_entry() {
  return entry_of<Easgd, ElasticOptions>({.name = "easgd",
                                          .summary = "elastic averaging of local models with a centre variable",
                                          .source = "Zhang, Choromanska and LeCun, NIPS 2015",
                                          .formula = "e = alpha (x_i - c)\nx_i = x_i - e\nc = c + e"},
                                         Share::epoch);
}

}  // namespace paragrad::strategies
