#include <optional>

#include "app/command.hpp"
#include "app/option_use.hpp"
#include "app/scoring.hpp"
#include "app/shared_options.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/printable.hpp"
#include "core/units.hpp"
#include "train/state/checkpoint.hpp"
#include "train/train.hpp"

namespace paragrad::app {
namespace {

struct EvaluateArguments : CheckpointArguments {
  std::string subset = "test";
};

void add_options(CLI::App& parser, EvaluateArguments& arguments) {
  add_checkpoint_options(parser, arguments, "data file");
  add_subset_option(parser, arguments.subset);
  add_loss_option(parser, arguments.options.loss);
}

/// Scores a checkpoint, the samples divided among the workers.
class Evaluation : public Job {
 public:
  Evaluation(EvaluateArguments& arguments, const CLI::App& parser) : arguments_(arguments), parser_(parser) {}

  void prepare(const Process&) override {
    checkpoint_ = train::read_checkpoint(arguments_.checkpoint);
    OptionUse use(parser_);
    require_used(use, arguments_, checkpoint_.model);
    use.check();
    arguments_.options.model = checkpoint_.model;
    source_ = train::open_evaluation_data(arguments_.options);
  }
  std::size_t row_bytes() const override { return source_->info.bytes_per_row(); }

  void work(comm::Worker& worker, const data::SampleStreamDecorator& decorate) override {
    const data::Subset subset = parse_subset(arguments_.subset);
    const train::Score score =
        train::evaluate(worker, arguments_.options, checkpoint_.parameters, {*source_, decorate}, subset);
    if (worker.rank() == 0) score_ = score;
  }

  void finish(const core::Json& world) override {
    fmt::print("{} of {} after epoch {}: error {:.2f} %, loss {:.4f}\n", arguments_.subset,
               core::printable(source_->dataset->info().name), checkpoint_.epoch, 100 * score_.error, score_.loss);
    print_simulated_time(world);
  }

 private:
  EvaluateArguments& arguments_;
  const CLI::App& parser_;
  train::Checkpoint checkpoint_;
  std::optional<train::TrainingData> source_;
  train::Score score_;
};

int evaluate(EvaluateArguments& arguments, const CLI::App& parser) {
  Evaluation job(arguments, parser);
  return make_world(arguments.world, arguments.device)->run(job);
}

}  // namespace

Command evaluate_command() {
  auto arguments = std::make_shared<EvaluateArguments>();
  arguments->options.minibatch = 256;
  auto parser =
      make_parser("evaluate",
                  "Score a checkpoint on one subset of a data file.\n"
                  "The samples are divided among the ranks under mpiexec, or among emulated workers on a platform.");
  add_options(*parser, *arguments);
  set_examples(
      *parser,
      "paragrad evaluate runs/one/checkpoint.h5 --data frames.h5\n"
      "paragrad evaluate runs/one/checkpoint.h5 --data frames.h5 --subset valid\n"
      "mpiexec -n 2 paragrad evaluate runs/one/checkpoint.h5 --data frames.h5\n"
      "paragrad evaluate runs/one/checkpoint.h5 --data frames.h5 --workers 8 --platform sim/platforms/k40m-fdr.toml");
  return {parser, [arguments, parser] { return evaluate(*arguments, *parser); }};
}

}  // namespace paragrad::app
