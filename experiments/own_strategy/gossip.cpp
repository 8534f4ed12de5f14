#include <array>

#include "backend/kernels/copy.hpp"
#include "backend/kernels/descend.hpp"
#include "backend/kernels/scale.hpp"
#include "core/arena.hpp"
#include "strategies/strategy.hpp"

namespace paragrad::strategies {
namespace {

struct GossipOptions : comm::CollectiveOptions {
  double weight = 0.5;

  void describe(core::OptionList& list) {
    CollectiveOptions::describe(list);
    list.group("Block updates");
    list.number("gossip-weight", weight, core::a_share, "weight w of the model that the left neighbour sends");
  }
};

/// Stochastic gradient push (Assran et al., ICML 2019) on a directed ring, with local steps in between: after each block a
/// worker sends its model to the right and mixes the one from the left with its own,
///
///   x = (1 - w) x + w left
///
/// On this graph the paper's push-sum weights remain 1. The workers' models differ; their mean is evaluated and saved.
class Gossip : public Strategy {
 public:
  explicit Gossip(const GossipOptions& options)
      : Strategy(Share::block),
        weight_(static_cast<float>(options.weight)),
        allreduce_(comm::make_allreduce(options.collective)) {}

  void start(comm::Worker& worker, Replica& replica) override {
    for (core::Arena* array : {&left_, &own_}) *array = worker.device().allocate(replica.parameters.size());
  }

  void synchronise(comm::Worker& worker, Replica& replica, std::size_t /*samples*/) override {
    const int n = worker.size(), left = (worker.rank() + n - 1) % n, right = (worker.rank() + 1) % n, tag = 1;
    if (n == 1) return;
    comm::Communicator& comm = worker.comm();
    const std::array transfers{comm.start_receive(left, tag, left_.span()), comm.start_send(right, tag, replica.parameters)};
    for (const comm::Request transfer : transfers) comm.wait(transfer);
    worker.run_kernels([&](backend::KernelQueue& queue) {
      queue.run(backend::Scale{1 - weight_, replica.parameters});
      queue.run(backend::Descend{-weight_, 0, left_.span(), replica.parameters});
    });
  }

  void show_model(comm::Worker& worker, Replica& replica) override {
    worker.run_kernels([&](backend::KernelQueue& queue) { queue.run(backend::Copy{replica.parameters, own_.span()}); });
    (*allreduce_)(worker.comm(), replica.parameters);
    const float share = 1 / static_cast<float>(worker.size());
    worker.run_kernels([&](backend::KernelQueue& queue) { queue.run(backend::Scale{share, replica.parameters}); });
  }

  void resume_work(comm::Worker& worker, Replica& replica) override {
    worker.run_kernels([&](backend::KernelQueue& queue) { queue.run(backend::Copy{own_.span(), replica.parameters}); });
  }

 private:
  float weight_;
  std::unique_ptr<comm::Allreduce> allreduce_;
  core::Arena left_, own_;  // the neighbour's model; the worker's own while the mean is shown
};

}  // namespace

StrategyEntry gossip_entry() {
  return entry_of<Gossip, GossipOptions>({.name = "gossip",
                                          .summary = "mix each model with the left neighbour's on a ring",
                                          .source = "Assran et al., ICML 2019",
                                          .formula = "x = (1 - w) x + w left"});
}

}  // namespace paragrad::strategies
