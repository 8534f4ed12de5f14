#include <array>
#include <string>
#include <utility>

#include "core/format.hpp"
#include "train/observers/loop_observer.hpp"
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
               run.everybody.rank() == 0 ? run.output.folder : nullptr) {}

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
    if (run_.output.state_every_blocks > 0 && !run_.is_over) save(run_.epoch + 1);
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
    std::array<std::pair<std::string, double>, 8> point{{{"epoch", epoch},
                                                         {"block", run_.block},
                                                         {"minibatch", run_.minibatch},
                                                         {"started", run_.strategy_started},
                                                         {"samples", run_.samples_before},
                                                         {"elapsed_s", run_.elapsed_s()},
                                                         {"earlier_s", run_.result.pretraining_s},
                                                         {"earlier_samples", run_.result.pretraining_samples}}};
    core::StateView state = describe();
    for (auto& [name, value] : point) state.add("resume_point/" + name, value);
    if (run_.output.while_saving) run_.output.while_saving();
    store_.save(SavedState(state, run_.worker.device()), {.phase = run_.output.phase, .epoch = epoch, .block = run_.block});
    if (run_.leads() && run_.output.after_saving) run_.output.after_saving();
  }

  void note(std::size_t block, std::size_t blocks) const {
    if (run_.output.state_every_blocks > 0 && run_.everybody.rank() == 0)
      note_position(run_.output.state_folder, {run_.output.phase, run_.epoch, block, blocks});
  }

  void resume() {
    const SavedState saved = store_.load();
    const auto at = [&](const std::string& name) { return saved.number("resume_point/" + name); };
    run_.epoch = static_cast<int>(at("epoch"));
    run_.block = static_cast<std::size_t>(at("block"));
    run_.minibatch = static_cast<std::size_t>(at("minibatch"));
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
      if (const auto name = core::format("{}/parameters", owner); saved.has(name))
        best->parameters.resize(saved.length(name));
    saved.restore(describe(), run_.worker.device());
    if (auto* const strategy = run_.served()) strategy->spread_state(run_.worker, run_.blocks.replica());
    run_.report.say(core::format("resumed in epoch {} after {} of its blocks", run_.epoch, run_.block));
  }

  StateStore store_;
};

}  // namespace

std::unique_ptr<LoopObserver> make_state_saving(TrainingRun& run) { return std::make_unique<StateSaving>(run); }

}  // namespace paragrad::train
