#include "backend/kernels/copy.hpp"
#include "backend/kernels/descend.hpp"
#include "backend/kernels/momentum_update.hpp"
#include "strategies/outer_optimiser.hpp"

namespace paragrad::strategies {
namespace {

struct EagerOptions : OuterExchangeOptions {
  OuterStepOptions outer;
  bool eager = true;

  void describe(core::OptionList& list) {
    OuterExchangeOptions::describe(list);
    outer.describe(list);
    list.group("Meetings");
    list.flag("eager", eager,
              "a worker counts its own displacement at once, and the others' a block later (false: its own a block later, "
              "too)");
  }
};

/// DiLoCo whose exchange travels during the whole next block: with eager updates (Kale, Douillard and Donchev, arXiv
/// 2502.12996, 2025), or without, as in DiLoCoX (Qi et al., arXiv 2506.21263, 2025). After block t worker i, which set out
/// from s_i, sends D_i(t) = s_i - x_i and takes an outer step with
///
///   g_i = mean D(t-1) + (D_i(t) - D_i(t-1))/N        eager: its own part is new, that of the others a block old
///   g   = mean D(t-1)                                otherwise
///
/// and Nesterov momentum v = μ v + g. The outer step is linear in g, and D_i(t-1) cancels in the sum of the eager steps. So
/// what is kept is the common model x of all the displacements that have arrived, to which DiLoCo's steps are applied, and
/// each worker sets out from
///
///   v_i = μ v_i + D_i;  s_i = x - lr/N (D_i + μ v_i)       otherwise s_i = x
///
/// A worker sends x - D_i, a model like those that DiLoCo averages, which weights it by its samples; in its own step it
/// counts 1/N. One worker takes DiLoCo's steps, up to rounding. x with all displacements is evaluated and saved.
///
/// Bytes: DiLoCo's. Memory: two models besides DiLoCo's, three if eager.
class EagerDiLoCo : public MeetingStrategy {
 public:
  EagerDiLoCo(const EagerOptions& options, const StrategyContext& context)
      : options_(options), exchange_(options, context) {}

  Remarks explain(const Extent& extent) const override { return exchange_.explain(extent); }
  Remarks report(comm::Worker& worker) override {
    return remarks_on_displacements(worker, exchange_.saturated(worker.comm()));
  }
  void start(comm::Worker& worker, Replica& replica) override;
  std::size_t next_meeting(std::size_t, std::size_t rounds) override { return rounds; }
  void meet(comm::Worker& worker, Replica& replica, const Meeting& at) override;
  void show_model(comm::Worker& worker, Replica& replica) override;
  void resume_work(comm::Worker& worker, Replica& replica) override;
  void describe_state(core::StateView& state) override;

 private:
  void exchange(comm::Communicator& comm, std::size_t samples);

  EagerOptions options_;
  OuterExchange exchange_;
  core::Range owned_;
  core::Arena model_, momentum_;  // x and v, [owned]
  core::Arena travelling_;        // x - D_i; after a join() the whole x
  core::Arena set_out_;           // s_i
  core::Arena own_momentum_;      // v_i, if eager
};

void EagerDiLoCo::start(comm::Worker& worker, Replica& replica) {
  const std::size_t length = replica.parameters.size();
  exchange_.start(worker.comm(), replica.layout);
  owned_ = exchange_.owned(worker.comm(), length);
  for (core::Arena* const arena : {&model_, &momentum_}) *arena = worker.device().allocate(owned_.size());
  for (core::Arena* const arena : {&travelling_, &set_out_}) *arena = worker.device().allocate(length);
  own_momentum_ = worker.device().allocate(options_.eager ? length : 0);
  worker.run(backend::Copy{owned_.of(replica.parameters), model_.span()},
             backend::Copy{replica.parameters, travelling_.span()}, backend::Copy{replica.parameters, set_out_.span()});
}

void EagerDiLoCo::meet(comm::Worker& worker, Replica& replica, const Meeting& at) {
  worker.join();
  const std::span<float> displacement = set_out_.span();  // in its place
  const auto rate = static_cast<float>(options_.outer.learning_rate / worker.size());
  worker.run_kernels([&](backend::KernelQueue& queue) {
    queue.run(backend::Descend{1, 0, replica.parameters, displacement});
    queue.run(backend::Copy{travelling_.span(), replica.parameters});
    if (options_.eager)
      queue.run(backend::MomentumUpdate{rate, static_cast<float>(options_.outer.momentum), true, 0, displacement,
                                        own_momentum_.span(), replica.parameters});
    queue.run(backend::Descend{1, 0, displacement, travelling_.span()});
    queue.run(backend::Copy{replica.parameters, set_out_.span()});
  });
  worker.launch([this, samples = at.samples](comm::Communicator& comm) { exchange(comm, samples); });
}

void EagerDiLoCo::exchange(comm::Communicator& comm, std::size_t samples) {
  const std::span<float> values = travelling_.span();
  const double total = total_samples(comm, samples);
  if (total == 0) return;  // nobody has moved: it is x
  exchange_.to_mean(comm, values, model_.span(), samples, total);
  nesterov_step(comm, {owned_.of(values), model_.span(), momentum_.span()}, options_.outer.learning_rate,
                options_.outer.momentum);
  exchange_.all_gather(comm, values);
}

void EagerDiLoCo::show_model(comm::Worker& worker, Replica& replica) {
  worker.join();
  worker.run(backend::Copy{travelling_.span(), replica.parameters});
}

void EagerDiLoCo::resume_work(comm::Worker& worker, Replica& replica) {
  worker.run(backend::Copy{set_out_.span(), replica.parameters});
}

void EagerDiLoCo::describe_state(core::StateView& state) {
  exchange_.describe_state(state);
  state.add("outer_model", model_.span(), {owned_});
  state.add("outer_momentum", momentum_.span(), {owned_});
  state.add("whole_model", travelling_.span(), core::Rescale::equal);
  state.add("set_out", set_out_.span(), core::Rescale::mean);
  if (options_.eager) state.add("own_momentum", own_momentum_.span(), core::Rescale::mean);
}

}  // namespace

StrategyEntry eager_diloco_entry() {
  return entry_of<EagerDiLoCo, EagerOptions>(
      {.name = "eager_diloco",
       .summary = "diloco whose exchange travels during the next block; a worker's own part counts at once",
       .source = "Kale et al., 2025",
       .formula = "D_i = starting point - local model\n"
                  "g_i = mean D of the block before + (D_i - D_i of the block before)/N\n"
                  "v_i = mu v_i + g_i\nstarting point = starting point - rate (g_i + mu v_i)"});
}

}  // namespace paragrad::strategies
