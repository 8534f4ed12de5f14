#include <array>
#include <cmath>

#include "core/format.hpp"
#include "train/diverged.hpp"
#include "train/observers/loop_observer.hpp"
#include "train/training_run.hpp"

namespace paragrad::train {
namespace {

/// Scores the model after each epoch, and before that if several `validations` are wanted; reports the scores and keeps the
/// best models. Shows the progress in between.
class Validation : public LoopObserver {
 public:
  using LoopObserver::LoopObserver;

  void check() const override {
    if (run_.keeps_best()) run_.expect_validation("`keep-best` needs some");
  }

  void after_block(const EpochLoop::Progress& at) override {
    if (run_.report.is_watched())
      run_.report.advance(at.samples,
                          core::format("epoch {}/{} block {}/{}", run_.epoch, run_.options.epochs, at.done, at.blocks));
    if (!is_due_after(at)) return;
    run_.show_model();
    validate(run_.epoch - 1);
    tell(at.done);
    run_.resume_work();
  }

  void after_epoch() override {
    if (run_.parallel()) run_.show_model();
    validate(run_.epoch);
    run_.samples_before = run_.result.samples;
    if (!run_.keeps_best()) run_.write_model(run_.epoch);
    if (run_.leads()) run_.expect_finite_optimiser();
    tell(0);
  }

  void after_training() override {
    if (run_.options.epochs == 0) score();
    if (run_.keeps_best() && std::isinf(run_.least_error.score.error))
      run_.write_model(run_.result.epochs);  // none was better
    if (!best_is_last_ && std::isfinite(run_.least_error.score.error)) run_.go_back_to(run_.least_error, run_.result.epochs);
  }

 private:
  // Whether one of the epoch's validations is due; after_epoch() does the last one.
  bool is_due_after(const EpochLoop::Progress& at) const {
    const auto due = [&](std::size_t done) { return done * static_cast<std::size_t>(run_.options.validations) / at.blocks; };
    return run_.parallel() && at.done < at.blocks && due(at.done) > due(at.done - 1);
  }

  void score() {
    const ScopedTimer validate(run_.worker, core::Activity::validate, run_.times.validate_s);
    Learner& learner = run_.learner();
    Result& result = run_.result;
    std::array<double, 3> sums{};
    run_.traffic.post();
    do {
      sums = {run_.sums.loss, run_.sums.errors, run_.sums.samples};
    } while (!run_.add_up(sums));
    result.train = learner.score(run_.source.sums(data::Subset::train, sums[0], sums[1], sums[2]));
    result.samples = run_.samples_before + static_cast<std::uint64_t>(sums[2]);
    result.valid = run_.evaluator.score(data::Subset::valid);
    if (learner.has_free_energy())
      result.train.free_energy =
          run_.evaluator.score(data::Subset::train, run_.source.samples(data::Subset::valid)).free_energy;
    result.training_s = run_.elapsed_s();
    const TrafficAccount::Summary traffic = run_.traffic_of_all();
    recent_traffic_ = traffic.recent;
    result.traffic = traffic.total;
  }

  // epochs: complete so far.
  void validate(int epochs) {
    run_.traffic.without([&] { score(); });
    if (!run_.learner().computes() || run_.source.samples(data::Subset::valid) == 0) return;
    const Score& valid = run_.result.valid;
    if (!std::isfinite(valid.loss))
      throw Diverged(core::format("the validation loss is {} after epoch {}: lower the learning rate", std::abs(valid.loss),
                                  run_.epoch));
    if (run_.schedule->goes_back() && valid.loss < run_.least_loss.score.loss) keep(run_.least_loss);
    best_is_last_ = run_.keeps_best() && valid.error < run_.least_error.score.error;
    if (!best_is_last_) return;
    keep(run_.least_error);
    run_.write_model(epochs);
  }

  void keep(BestModel& best) {
    best.score = run_.result.valid;
    if (run_.leads()) run_.traffic.without([&] { best.parameters = run_.learner().snapshot(); });
  }

  void tell(std::size_t blocks) {
    run_.report.tell({run_.epoch, run_.schedule->rate(), run_.minibatch, run_.elapsed_s(), blocks}, run_.learner(),
                     run_.result, run_.times, recent_traffic_);
    if (run_.leads() && run_.output.after_record) run_.output.after_record(blocks > 0 ? run_.epoch - 1 : run_.epoch);
  }

  TrafficSummary recent_traffic_;  // since the last report
  bool best_is_last_ = false;      // the model of the last validation has the least error
};

}  // namespace

LoopObserverEntry validation_observer() { return {make_observer<Validation>}; }

}  // namespace paragrad::train
