#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "comm/allreduce.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "train/input/training_partition.hpp"
#include "train/observers/loop_observer.hpp"
#include "train/plan.hpp"
#include "train/state/rescale.hpp"
#include "train/state/state_store.hpp"
#include "train/training_run.hpp"

namespace paragrad::train {
namespace {

/// Saves the state from which an interrupted run resumes, every few blocks and after each epoch; and resumes.
class StateSaving : public LoopObserver {
 public:
  explicit StateSaving(TrainingRun& run)
      : LoopObserver(run),
        store_(run.everybody, run.output.state_folder, run.output.run,
               run.everybody.rank() == 0 ? run.output.folder : nullptr, run.output.rescales) {}

  void before_training() override {
    if (run_.output.resume_phase) resume();
    note(run_.block, run_.source.partition->blocks());
  }

  void after_block(const EpochLoop::Progress& at) override {
    note(at.done, at.blocks);
    if (run_.output.state_every_blocks > 0 && run_.parallel() && run_.blocks.served() == nullptr && at.done < at.blocks &&
        at.done % run_.output.state_every_blocks == 0)
      save(run_.epoch);
  }

  void after_epoch() override {
    if (run_.output.state_every_blocks > 0 && !run_.is_over()) save(run_.epoch + 1);
  }

 private:
  core::StateView describe() {
    core::StateView all = run_.describe();
    add_state(all, "least_loss", run_.least_loss);
    add_state(all, "least_error", run_.least_error);
    return all;
  }

  // epoch: the one in which a resumed run continues.
  void save(int epoch) {
    run_.worker.join();  // completes pending transfers
    run_.traffic.without([&] { write(epoch); });
  }

  void write(int epoch) {
    if (auto* const strategy = run_.served()) strategy->collect_state(run_.worker, run_.blocks.replica());
    std::array<std::pair<std::string, double>, 9> point{{{"epoch", epoch},
                                                         {"block", run_.block},
                                                         {"minibatch", run_.minibatch},
                                                         {"started", run_.strategy_started},
                                                         {"initial_rate", run_.options.schedule.initial_rate},
                                                         {"samples", run_.samples_before},
                                                         {"elapsed_s", run_.elapsed_s()},
                                                         {"earlier_s", run_.result.pretraining_s},
                                                         {"earlier_samples", run_.result.pretraining_samples}}};
    core::StateView state = describe();
    for (auto& [name, value] : point) state.add("resume_point/" + name, value, core::Rescale::equal);
    if (run_.output.while_saving) run_.output.while_saving();
    const SavedState saved(state, run_.worker.device());
    if (saved.has("parameters"))
      run_.expect_finite(saved.arrays().at("parameters"));  // or the last good state would be lost
    store_.save(saved, {.phase = run_.output.phase, .epoch = epoch, .block = run_.block});
    if (run_.leads() && run_.output.after_saving) run_.output.after_saving();
  }

  void note(std::size_t block, std::size_t blocks) const {
    if (run_.output.state_every_blocks > 0 && run_.everybody.rank() == 0)
      note_position(run_.output.state_folder, {run_.output.phase, run_.epoch, block, blocks});
  }

  void resume() {
    const SavedState saved = store_.load();
    const auto at = [&](const std::string& name) { return saved.number("resume_point/" + name); };
    const bool rescales = store_.loaded_workers() != run_.everybody.size();
    run_.epoch = static_cast<int>(at("epoch"));
    run_.block = static_cast<std::size_t>(at("block"));
    if (rescales) comm::agree(run_.everybody.comm(), [&] { check_partition(store_.loaded_workers()); });
    if (!rescales || run_.options.minibatch_search.enabled) run_.minibatch = static_cast<std::size_t>(at("minibatch"));
    run_.samples_before = run_.result.samples = static_cast<std::uint64_t>(at("samples"));
    run_.result.pretraining_s = at("earlier_s");
    run_.result.pretraining_samples = static_cast<std::uint64_t>(at("earlier_samples"));
    run_.start_s = run_.worker.comm().now_s() - run_.output.resumed_at_s.value_or(at("elapsed_s"));
    run_.strategy_started = at("started") != 0;
    if (run_.strategy_started) {
      run_.blocks.start_strategy();
      if (run_.blocks.served() != nullptr) run_.blocks.served()->collect_state(run_.worker, run_.blocks.replica());
    }
    for (auto& [owner, best] : {std::pair("least_loss", &run_.least_loss), std::pair("least_error", &run_.least_error)})
      if (const auto name = core::format("{}/parameters", owner); saved.has(name) && (!rescales || run_.leads()))
        best->parameters.resize(saved.length(name));
    core::StateView state = describe();
    if (!run_.strategy_started) state.take_worker_0();
    store_.restore(saved, state);
    if (rescales) run_.schedule->scale(run_.options.schedule.initial_rate / at("initial_rate"));
    if (auto* const strategy = run_.served()) strategy->spread_state(run_.worker, run_.blocks.replica());
    run_.report.say(core::format("resumed in epoch {} after {} of its blocks", run_.epoch, run_.block));
    if (rescales) say_rescaled(at("initial_rate"));
  }

  /// The samples that are trained in the epoch must be those of the first blocks for this number of workers, too.
  void check_partition(int workers_before) const {
    if (run_.block == 0) return;
    const data::Partition &now = *run_.source.partition, before = partition_for(run_.source, run_.options, workers_before);
    const auto trained = [&](const data::Partition& partition) {
      const auto order = block_order(run_.options.seed, run_.epoch, partition.blocks());
      std::vector<std::uint32_t> sorted;
      for (const std::size_t block : std::span(order).first(run_.block)) {
        const auto rows = partition.rows(partition.block_range(block));
        sorted.insert(sorted.end(), rows.begin(), rows.end());
      }
      std::ranges::sort(sorted);
      return sorted;
    };
    if (before.blocks() != now.blocks() || trained(before) != trained(now))
      throw core::ConfigError(core::format(
          "cannot rescale within epoch {}: its {} trained blocks hold other samples with {} workers than with {}; "
          "resume with {} until the epoch has ended",
          run_.epoch, run_.block, run_.everybody.size(), workers_before, workers_before));
  }

  void say_rescaled(double rate_before) {
    const int before = store_.loaded_workers(), now = run_.everybody.size();
    run_.report.say(core::format("rescaled from {} to {} workers:", before, now));
    for (const std::string& line : rules_of(describe())) run_.report.say(line);
    const double rate = run_.options.schedule.initial_rate;
    run_.report.say(rate == rate_before ? core::format("  learning rate: {:g}, unchanged", rate)
                                        : core::format("  learning rate: {:g} instead of {:g}", rate, rate_before));
    run_.report.say(shares_minibatches(run_.options)
                        ? core::format("  a worker's part of each minibatch: 1/{} instead of 1/{}", now, before)
                        : core::format("  minibatches of a worker between two synchronisations: {:.3g} times as many",
                                       static_cast<double>(before) / now));
  }

  StateStore store_;
};

}  // namespace

LoopObserverEntry state_saving_observer() { return {make_observer<StateSaving>}; }

}  // namespace paragrad::train
