#include "app/command.hpp"
#include "app/option_use.hpp"
#include "app/scoring.hpp"
#include "app/shared_options.hpp"
#include "comm/real_worker.hpp"
#include "comm/solo_communicator.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/printable.hpp"
#include "train/state/checkpoint.hpp"
#include "train/train.hpp"

namespace paragrad::app {
namespace {

struct EvaluateArguments {
  std::string checkpoint, subset = "test", device = "cpu";
  train::TrainingOptions options;
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
}

int evaluate(EvaluateArguments& arguments, const CLI::App& parser) {
  const train::Checkpoint checkpoint = train::read_checkpoint(arguments.checkpoint);
  OptionUse use(parser);
  require_recurrent(use, checkpoint.model);
  use.check();
  train::TrainingOptions& options = arguments.options;
  options.model = checkpoint.model;
  const train::TrainingData source = train::open_evaluation_data(options);
  const auto device = backend::make_device(arguments.device);
  comm::SoloCommunicator communicator(*device);
  comm::RealWorker worker(communicator);
  const train::Score score = train::evaluate(worker, options, checkpoint.parameters, source, parse_subset(arguments.subset));
  fmt::print("{} of {} after epoch {}: error {:.2f} %, loss {:.4f}\n", arguments.subset,
             core::printable(source.dataset->info().name), checkpoint.epoch, 100 * score.error, score.loss);
  return success;
}

}  // namespace

Command evaluate_command() {
  auto arguments = std::make_shared<EvaluateArguments>();
  arguments->options.minibatch = 256;
  auto parser = make_parser("evaluate", "Score a checkpoint on one subset of a data file.");
  add_options(*parser, *arguments);
  set_examples(*parser,
               "paragrad evaluate runs/one/checkpoint.h5 --data frames.h5\n"
               "paragrad evaluate runs/one/checkpoint.h5 --data frames.h5 --subset valid");
  return {parser, [arguments, parser] { return evaluate(*arguments, *parser); }};
}

}  // namespace paragrad::app
