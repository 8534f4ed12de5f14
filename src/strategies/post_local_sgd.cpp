#include "strategies/data_parallel.hpp"
#include "strategies/model_averaging.hpp"

namespace paragrad::strategies {
namespace {

struct PostLocalOptions {
  GradientOptions gradients;
  AveragingOptions averaging;
  int local_start_epoch = 2;

  void describe(core::OptionList& list) {
    gradients.describe(list);
    averaging.describe(list);
    list.group("Distribution");
    list.number("local-start-epoch", local_start_epoch, {.least = 1, .most = 1000000},
                "first epoch of local training, in which gradients are no longer exchanged");
  }
};

/// Post-local SGD (Lin, Stich, Patel and Jaggi, "Don't use large mini-batches, use local SGD", ICLR 2020): data-parallel
/// while the learning rate is large; from epoch local_start_epoch on local SGD with averaging at the end of each block.
///
/// Minibatches are shared throughout. In the local epochs each worker steps on its own part, using the mean over that part
/// instead of the mean over the whole: as many steps as before, of the same length. With one minibatch per block both are
/// the same up to rounding, as the mean of the local models is weighted by samples.
class PostLocalSgd : public ExchangingStrategy {
 public:
  PostLocalSgd(const PostLocalOptions& options, const StrategyContext& context)
      : ExchangingStrategy(Share::minibatch),
        data_parallel_(options.gradients, context),
        averaging_(options.averaging),
        local_start_epoch_(options.local_start_epoch),
        local_(local_start_epoch_ == 1) {}

  bool exchanges(int workers) const override { return workers > 1 && !local_; }
  Remarks explain(const Extent& extent) const override {
    return local_ ? averaging_.explain(extent) : data_parallel_.explain(extent);
  }
  std::size_t stage_elements() const override { return data_parallel_.stage_elements(); }
  void start(comm::Worker& worker, Replica& replica) override { data_parallel_.start(worker, replica); }
  void begin_epoch(comm::Worker&, Replica&, int epoch) override { local_ = epoch >= local_start_epoch_; }
  void gradient_ready(comm::Worker& worker, Replica& replica, core::Range range) override {
    data_parallel_.gradient_ready(worker, replica, range);
  }
  void step(comm::Worker& worker, Replica& replica) override { data_parallel_.step(worker, replica); }
  void synchronise(comm::Worker& worker, Replica& replica, std::size_t samples) override {
    if (local_) averaging_.synchronise(worker, replica, samples);
  }
  void show_model(comm::Worker& worker, Replica& replica) override { data_parallel_.show_model(worker, replica); }
  Remarks report(comm::Worker& worker) override { return data_parallel_.report(worker); }
  void describe_state(core::StateView& state) override { data_parallel_.describe_state(state); }

 private:
  DataParallel data_parallel_;
  ModelAveraging averaging_;
  int local_start_epoch_;
  bool local_;
};

}  // namespace

StrategyEntry post_local_sgd_entry() {
  StrategyEntry entry =
      entry_of<PostLocalSgd, PostLocalOptions>({.name = "post_local_sgd",
                                                .summary = "data_parallel in the first epochs, then model averaging",
                                                .source = "Lin et al., ICLR 2020"},
                                               Share::minibatch);
  entry.exchanges_always = false;
  return entry;
}

}  // namespace paragrad::strategies
