#include "app/training_job.hpp"

#include <memory>
#include <utility>

#include "comm/collectives/catalogue.hpp"
#include "core/json.hpp"
#include "runs/training_report.hpp"
#include "system/file_replacement.hpp"
#include "train/memory_need.hpp"
#include "train/pretraining.hpp"
#include "train/state/run_identity.hpp"
#include "train/state/state_store.hpp"
#include "worlds/interruption.hpp"

namespace paragrad::app {
namespace {

/// Throws ConfigError if the strategy's collective is that of a library which these workers cannot use.
void require_library(comm::Communicator& comm, const core::Settings& strategy) {
  const auto chosen = strategy.find("collective");
  if (chosen == strategy.end()) return;
  for (const comm::collectives::Entry& entry : comm::algorithms())
    if (entry.library && entry.info.name == chosen->second.text())
      comm.library_routine(*entry.library, comm::Operation::allreduce, {}, {});
}

}  // namespace

bool TrainingJob::is_needed() {
  if (!runs::is_complete(arguments_, config_)) return true;
  runs::say_complete(arguments_);
  return false;
}

void TrainingJob::prepare(const worlds::Process& process) {
  const train::TrainingOptions& options = arguments_.options;
  if (process.leads()) worlds::set_interruption_notice("interrupted before the training began; the same command starts it");
  workers_ = runs::workers_of(options, process.size);
  source_ = open(options, workers_);
  const int here = process.workers == process.size ? workers_ : process.workers;
  train::require_memory(*backend::make_device(arguments_.device), options, *source_, here);
  options_ = runs::with_servers(arguments_, *source_, workers_);
  identity_ = runs::identity_of(arguments_, config_, *source_);
  if (process.leads()) {
    open_folder();
    system::require_replaceable(options_.servers.record);
  }
  instruments_.emplace(arguments_.instruments, process.size, process.rank, process.workers,
                       [this](const std::string& line) { say(line); });
}

worlds::RankFacts TrainingJob::facts() const {
  worlds::RankFacts facts = worlds::facts_of(source_->info);
  facts["the SHA-256 of the partition of the data"] = train::identify_run("", *source_).partition_sha256;
  return facts;
}

void TrainingJob::open_folder() {
  manifest_ = runs::manifest(arguments_, *source_, world_.name(), workers_);
  world_.describe(manifest_);
  describe(manifest_);
  runs::require_same_start(arguments_, manifest_);
  using Clock = metrics::EventFile::Clock;
  opened_ = runs::open_run(arguments_, config_, identity_, workers_,
                           std::string_view(world_.clock()) == "wall" ? Clock::wall : Clock::simulated);
  saved_ = {.epochs = 0, .state = {}, .pretrains = false, .resumes = resumes()};
  if (opened_.resume_phase) find_saved_state();
  tell_what_is_saved();
  if (!opened_.rescalings.empty()) manifest_["run"]["rescaled"] = opened_.rescalings;
  if (opened_.folder) opened_.folder->write("manifest.json", core::text_of(manifest_, 2) + "\n");
  progress_.emplace(runs::samples_to_train(arguments_.options, *source_), arguments_.quiet);
  explain();
}

void TrainingJob::adopt(int finding) {
  if (finding > 0) opened_.resume_phase = finding - 1;
  options_ = runs::options_to_train(options_, opened_, progress_ ? &*progress_ : nullptr);
}

void TrainingJob::find_saved_state() {
  saved_.state = train::StateStore::saved_position(runs::state_folder(arguments_));
  saved_.pretrains = saved_.state && saved_.state->phase + 1 < static_cast<int>(train::phases(options_).size());
}

void TrainingJob::tell_what_is_saved() const {
  worlds::set_interruption_notice(runs::interruption_sentence(arguments_, saved_));
}

void TrainingJob::keep_told(train::Output& output) {
  output.after_record = [this](int epochs) {
    saved_.epochs = epochs;
    tell_what_is_saved();
  };
  output.after_saving = [this, then = std::move(output.after_saving)] {
    find_saved_state();
    tell_what_is_saved();
    if (then) then();
  };
}

train::Output TrainingJob::output_for(const comm::Worker& worker, const worlds::AddedTime& added) {
  train::Output output = runs::output_of(arguments_, opened_, identity_, progress_ ? &*progress_ : nullptr);
  if (opened_.folder) output.begin = [this] { opened_.folder->begin(); };
  output.while_saving = added.saving;
  output.after_block = worlds::check_interruption;
  complete(output);
  if (progress_ && worker.rank() == 0) keep_told(output);
  return output;
}

// Whatever is large is on the heap: thousands of emulated workers wait in a training, with a page of stack each.
void TrainingJob::work(comm::Worker& worker, const worlds::AddedTime& added) {
  const std::unique_ptr<const train::Output> output(new train::Output(output_for(worker, added)));
  require_library(worker.comm(), options_.strategy_settings);
  instruments_->watch(worker, [&](comm::Worker& watched) {
    auto lost = runs::run_role(watched, workers_, options_, *output, [&](comm::Worker& member) {
      const std::unique_ptr<train::Result> mine(
          new train::Result(train::train(member, options_, {*source_, added.reading}, *output)));
      if (member.rank() == 0) result_ = std::move(*mine);
    });
    if (watched.rank() == 0) lost_ = std::move(lost);
  });
}

void TrainingJob::finish(const core::Json& world) {
  worlds::set_interruption_notice("");  // the run is complete
  progress_.reset();
  if (auto& folder = opened_.folder) {
    folder->record(runs::end_record(result_));
    folder->sync();  // before the manifest says that the run is complete
    instruments_->write(*folder, world_.clock());
    if (!world.is_null()) manifest_["simulation"] = world;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
    runs::finish_manifest(manifest_, result_, passed.count());
    folder->write("manifest.json", core::text_of(manifest_, 2) + "\n");
    runs::remove_state(arguments_);
  }
  runs::print_result(arguments_, result_, *source_, world);
  print_more(options_, *source_);
  runs::print_lost(lost_);
}

}  // namespace paragrad::app
