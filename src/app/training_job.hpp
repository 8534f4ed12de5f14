#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "runs/run_output.hpp"
#include "runs/saved_so_far.hpp"
#include "runs/server_arguments.hpp"
#include "worlds/world.hpp"

namespace paragrad::app {

/// A training in any world: its data, its run folder, its manifest, what it prints.
class TrainingJob : public worlds::Job {
 public:
  /// arguments, world: must outlive the job. config: of config.toml.
  TrainingJob(const runs::TrainingArguments& arguments, const std::string& config, const worlds::World& world)
      : arguments_(arguments), config_(config), world_(world) {}

  bool is_needed() override;
  void prepare(const worlds::Process& process) override;
  worlds::RankFacts facts() const override;
  int finding() const override { return opened_.resume_phase ? *opened_.resume_phase + 1 : 0; }
  void adopt(int finding) override;
  std::size_t row_bytes() const override { return source_->info.bytes_to_read(); }
  worlds::Instruments* instruments() override { return &*instruments_; }
  void work(comm::Worker& worker, const worlds::AddedTime& added) override;
  void finish(const core::Json& world) override;

 protected:
  const runs::TrainingArguments& arguments() const { return arguments_; }
  const train::Result& result() const { return result_; }

  /// What train and simulate differ in.
  virtual train::TrainingData open(const train::TrainingOptions& options, int workers) const {
    return train::open_training_data(options, workers);
  }
  void say(const std::string& line) {
    if (progress_) progress_->say(line);
  }

 private:
  // What a simulated training adds.
  virtual void describe(core::Json& /*manifest*/) const {}
  virtual void explain() {}
  virtual void complete(train::Output&) const {}
  virtual bool resumes() const { return true; }
  virtual void print_more(const train::TrainingOptions&, const train::TrainingData&) const {}

  void open_folder();

  // What SIGINT and SIGTERM print.
  void find_saved_state();
  void tell_what_is_saved() const;
  train::Output output_for(const comm::Worker& worker, const worlds::AddedTime& added);
  void keep_told(train::Output& output);

  const runs::TrainingArguments& arguments_;
  std::string config_;
  const worlds::World& world_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  int workers_ = 0;  // that train
  std::optional<train::TrainingData> source_;
  train::TrainingOptions options_;
  train::RunIdentity identity_;
  runs::OpenedRun opened_;
  std::optional<metrics::Progress> progress_;
  std::optional<worlds::Instruments> instruments_;
  core::Json manifest_;
  train::Result result_;
  std::vector<runs::LostWorker> lost_;
  runs::SavedSoFar saved_;
};

}  // namespace paragrad::app
