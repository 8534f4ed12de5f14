#include <cstdio>
#include <string>

#include "app/commands.hpp"
#include "app/scoring.hpp"
#include "cli/described_options.hpp"
#include "core/errors.hpp"
#include "train/text_writer.hpp"
#include "worlds/shared_options.hpp"

namespace paragrad::app {
namespace {

struct SampleArguments {
  std::string checkpoint, device = "cpu", prompt = "\n";
  train::WritingOptions how;

  void describe(core::OptionList& list) {
    list.argument("checkpoint", checkpoint, "checkpoint.h5 of a run that trained a model of a text").path().required();
    list.text("prompt", prompt, "text to continue").without_default("a line break");
    how.describe(list);
    worlds::describe_device(list, device);
  }
};

int write_sample(const SampleArguments& arguments) {
  require_computing(arguments.device);
  const auto device = backend::make_device(arguments.device);
  const train::Checkpoint checkpoint = train::read_checkpoint(arguments.checkpoint);
  train::TextWriter writer(*device, checkpoint, arguments.checkpoint);
  const auto print = [](const std::string& bytes) {
    return std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() && std::fflush(stdout) == 0;
  };
  writer.continue_text(arguments.prompt, arguments.how, print);
  print("\n");
  return cli::success;
}

}  // namespace

cli::Command sample_command() {
  return cli::command_of<SampleArguments>(
      {.name = "sample",
       .description = "Continue a text with a trained model of texts, token by token. The same seed gives the same text.",
       .examples = "paragrad sample runs/sonnets/checkpoint.h5 --prompt 'Shall I '\n"
                   "paragrad sample runs/sonnets/checkpoint.h5 --tokens 200 --temperature 0.8 --top-k 20"},
      [](SampleArguments& arguments, const CLI::App&) { return write_sample(arguments); });
}

}  // namespace paragrad::app
