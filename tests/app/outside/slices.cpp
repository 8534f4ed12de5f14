#include "backend/kernels/copy.hpp"
#include "backend/kernels/scale.hpp"
#include "strategies/model_averaging.hpp"

namespace paragrad::strategies {
namespace {

struct SlicesOptions : comm::CollectiveOptions {
  std::size_t slices = 4;

  void describe(core::OptionList& list) {
    CollectiveOptions::describe(list);
    list.group("Meetings");
    list.number("slices", slices, core::one_or_more, "slices of the parameters that are averaged in turn");
  }
};

/// After each minibatch the workers average one slice of the parameters: the size of sparta, which draws them.
class Slices : public MeetingStrategy {
 public:
  explicit Slices(const SlicesOptions& options)
      : slices_(options.slices), allreduce_(comm::make_allreduce(options.collective)) {}

  std::size_t next_meeting(std::size_t round, std::size_t) override { return round + 1; }
  void meet(comm::Worker& worker, Replica& replica, const Meeting&) override {
    const core::Range slice = core::part_of(replica.parameters.size(), slices_, meetings_++ % slices_);
    average(worker, slice.of(replica.parameters));
  }
  void show_model(comm::Worker& worker, Replica& replica) override {
    own_ = worker.device().allocate(replica.parameters.size());
    worker.run(backend::Copy{replica.parameters, own_.span()});
    average(worker, replica.parameters);
  }
  void resume_work(comm::Worker& worker, Replica& replica) override {
    worker.run(backend::Copy{own_.span(), replica.parameters});
  }
  void describe_state(core::StateView& state) override { state.add("meetings", meetings_, core::Rescale::equal); }

 private:
  void average(comm::Worker& worker, std::span<float> values) {
    if (worker.size() == 1) return;
    (*allreduce_)(worker.comm(), values);
    worker.run(backend::Scale{static_cast<float>(1.0 / worker.size()), values});
  }

  std::size_t slices_;
  std::unique_ptr<comm::Allreduce> allreduce_;
  std::uint64_t meetings_ = 0;
  core::Arena own_;
};

}  // namespace

StrategyEntry slices_entry() {
  return entry_of<Slices, SlicesOptions>(
      {.name = "slices", .summary = "average a slice of the models after each minibatch"});
}

}  // namespace paragrad::strategies
