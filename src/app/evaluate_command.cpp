#include <optional>

#include "app/command.hpp"
#include "app/option_use.hpp"
#include "app/scoring.hpp"
#include "app/shared_options.hpp"
#include "app/sim_world.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/printable.hpp"
#include "core/units.hpp"
#include "train/state/checkpoint.hpp"
#include "train/train.hpp"

namespace paragrad::app {
namespace {

struct EvaluateArguments {
  std::string checkpoint, subset = "test", device = "cpu";
  train::TrainingOptions options;
  SimWorldArguments world;
};

void add_options(CLI::App& parser, EvaluateArguments& arguments) {
  train::TrainingOptions& options = arguments.options;
  parser.add_option("checkpoint", arguments.checkpoint, "checkpoint.h5 of a run")->required();
  parser.add_option("--data", options.data, "data file")->required();
  add_subset_option(parser, arguments.subset);
  add_loss_option(parser, options.loss);
  parser.add_option("--context", options.context,
                    "frames of context left and right that the network expects, such as 5+5 (default: as in the data file)");
  parser.add_option("--chunks", options.chunks,
                    "recurrent models: process whole sequences, or chunks such as 21-64+21 or, with overlap, 21-64+21/32");
  add_device_option(parser, arguments.device);
  add_sim_world_options(parser, arguments.world);
}

/// Scores a checkpoint, the samples divided among the workers.
class Evaluation : public Job {
 public:
  Evaluation(EvaluateArguments& arguments, const CLI::App& parser) : arguments_(arguments), parser_(parser) {}

  void prepare(const Process&) override {
    checkpoint_ = train::read_checkpoint(arguments_.checkpoint);
    OptionUse use(parser_);
    require_recurrent(use, checkpoint_.model);
    require_world(use, arguments_.world);
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
    if (!world.is_null())
      fmt::print("simulated time {}\n", core::format_quantity(world.at("makespan_s").get<double>(), core::Unit::time));
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
