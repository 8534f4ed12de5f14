#include "app/command.hpp"
#include "app/scoring.hpp"
#include "comm/real_worker.hpp"
#include "comm/solo.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "train/checkpoint.hpp"
#include "train/train.hpp"

namespace paragrad::app {

int evaluate_command(std::span<char*> argv) {
  std::string path, subset = "test", device_name = "cpu";
  train::Options options;
  options.minibatch = 256;
  const auto parser = make_parser("paragrad evaluate", "Scores a checkpoint on one subset of a data set.");
  parser->add_option("checkpoint", path, "checkpoint.h5 of a run")->required();
  parser->add_option("--data", options.data, "data file")->required();
  parser->add_option("--subset", subset, "train, valid or test");
  parser->add_option("--loss", options.loss, "cross_entropy, squared_error or ctc");
  parser->add_option("--context", options.context, "the network's, as 5+5, instead of the data file's");
  parser->add_option("--chunks", options.chunks,
                     "recurrent models go over chunks like 21-64+21 or, with overlap, 21-64+21/32, or whole sequences");
  parser->add_option("--device", device_name, "device to compute on");
  if (const auto code = parse(*parser, argv)) return *code;

  const train::Checkpoint checkpoint = train::read_checkpoint(path);
  options.model = checkpoint.model;
  const train::Source source = train::open_evaluation(options);
  const auto device = backend::make_device(device_name);
  comm::SoloCommunicator communicator(*device);
  comm::RealWorker worker(communicator);
  const train::Score score = train::evaluate(worker, options, checkpoint.parameters, source, parse_subset(subset));
  fmt::print("{} of {} after sweep {}: error {:.2f} %, loss {:.4f}\n", subset, source.dataset->info().name, checkpoint.sweep,
             100 * score.error, score.loss);
  return success;
}

}  // namespace paragrad::app
