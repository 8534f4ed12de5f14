#include <optional>
#include <string>

#include "app/commands.hpp"
#include "app/scoring.hpp"
#include "cli/option_use.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "core/printable.hpp"
#include "system/file_replacement.hpp"
#include "train/sharpness.hpp"
#include "train/state/checkpoint.hpp"

namespace paragrad::app {
namespace {

struct SharpnessArguments : CheckpointArguments {
  SharpnessArguments() { options.minibatch = 256; }

  std::string checkpoint;
  std::string subset = "train";
  std::size_t samples = 0;  // 0: all
  train::SharpnessOptions how;
  std::string result;  // "": no file

  void describe(core::OptionList& list) {
    list.argument("checkpoint", checkpoint, "checkpoint.h5 of a run").path().required();
    CheckpointArguments::describe(list);
    describe_subset(list, subset);
    list.number("samples", samples, core::any_count, "use only this many samples of the subset (0: all)");
    list.number("epsilon", how.epsilon, core::above_zero,
                "size of the box: a parameter w may change by up to this times (|w| + 1)");
    list.number("steps", how.steps, {.least = 1, .most = 1000}, "maximum number of steps of the search");
    options.describe_loss(list).without_default("what scores the checkpoint's training");
    describe_result(list, result);
  }
};

class Measuring : public worlds::Job {
 public:
  Measuring(SharpnessArguments& arguments, const CLI::App& parser) : arguments_(arguments), parser_(parser) {}

  void prepare(const worlds::Process& process) override {
    checkpoint_ = train::read_checkpoint(arguments_.checkpoint);
    const cli::OptionUse use = use_with(checkpoint_.model, parser_, arguments_);
    if (process.leads()) system::require_replaceable(arguments_.result);
    if (!use.given("loss")) arguments_.options.loss = checkpoint_.loss;
    arguments_.options.loss = nn::loss_of_scores(arguments_.options.loss);
    source_ = train::open_evaluation_data(arguments_.options, checkpoint_, arguments_.checkpoint);
  }
  std::size_t row_bytes() const override { return source_->info.bytes_to_read(); }
  worlds::RankFacts facts() const override { return worlds::facts_of(source_->info, checkpoint_); }

  void work(comm::Worker& worker, const worlds::AddedTime& added) override {
    train::SharpnessOptions how = arguments_.how;
    if (arguments_.samples > 0) how.samples = arguments_.samples;
    const train::Sharpness found = train::sharpness(worker, arguments_.options, checkpoint_.parameters,
                                                    {*source_, added.reading}, parse_subset(arguments_.subset), how);
    if (worker.rank() == 0) found_ = found;
  }

  void finish(const core::Json& world) override {
    fmt::print("{} of {} after epoch {}: sharpness {:.4g}, loss {:.4f}, highest in the box {:.4f}\n", arguments_.subset,
               core::printable(source_->dataset->info().name), checkpoint_.epoch, found_.percent(), found_.loss,
               found_.highest_loss);
    worlds::print_simulated_time(world);
    if (arguments_.result.empty()) return;
    const core::Json record{
        {"sharpness", found_.percent()}, {"sharpness_loss", found_.loss}, {"sharpness_highest_loss", found_.highest_loss}};
    system::replace_file(arguments_.result, [&](std::ostream& out) { out << core::text_of(record, 1) << "\n"; });
  }

 private:
  SharpnessArguments& arguments_;
  const CLI::App& parser_;
  train::Checkpoint checkpoint_;
  std::optional<train::TrainingData> source_;
  train::Sharpness found_;
};

}  // namespace

cli::Command sharpness_command() {
  return job_command<Measuring, SharpnessArguments>(
      {.name = "sharpness",
       .description = "Measure how sharply the loss rises around a checkpoint's parameters.\n"
                      "Prints 100 (h - f) / (1 + f), where f is the loss and h the highest loss found in a box around the "
                      "parameters (Keskar et al., ICLR 2017).",
       .examples = "paragrad sharpness runs/one/checkpoint.h5 --data frames.h5\n"
                   "paragrad sharpness runs/one/checkpoint.h5 --data frames.h5 --epsilon 0.0005 --samples 1000"});
}

}  // namespace paragrad::app
