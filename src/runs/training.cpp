#include "runs/training.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "comm/collectives/hierarchy.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "train/pretraining.hpp"
#include "worlds/shared_options.hpp"

namespace paragrad::runs {
namespace {

/// A run is repeated from its options, so it must not replace a file that it starts from.
void keep_own_input(const std::string& option, const std::string& input, const std::string& own_file) {
  std::error_code missing;
  if (!input.empty() && std::filesystem::equivalent(input, own_file, missing))
    throw core::ConfigError(
        core::format("--{} '{}' would be replaced by the run in the same folder: choose another --out", option, input));
}

}  // namespace

void TrainingArguments::describe(core::OptionList& list) {
  const bool served = train::has_servers(options);
  const auto not_served = [&](const std::string& why) {
    return core::format("cannot be used with '{}', {}: leave it out", options.strategy, why);
  };
  options.describe(list);
  list.described("compression").when(gradient_bits == 32, "sets the same as `gradient-bits`: give one of them");
  list.group("Distribution");
  list.number(comm::collectives::option_of_nodes, workers_per_node, {.least = 0, .most = 1000000},
              "collectives hierarchical and auto: workers per node (0: as detected); the order of additions depends on it")
      .off("0");
  list.group("Gradient exchange");
  list.number("gradient-bits", gradient_bits, {.least = 1, .most = 32},
              "bits per exchanged gradient element: 1, 2, 4, 8, 16, or 32 (uncompressed); the same as `compression` bits:K")
      .off("32");
  if (!is_kept) return;
  list.group("Parameter server");
  list.text("record", record,
            "file to record the order of the servers' work in, for `replay` (none: no file; default: order.txt in the run "
            "folder)")
      .path()
      .mark(core::OptionMark::observes)
      .off("none");
  list.text("replay", replay, "simulate only: replay the order of the servers' work from this file")
      .path()
      .unless(
          served && options.pretraining.epochs > 0,
          "with `pretrain-epochs` " + not_served("whose recorded order does not cover pretraining (pretrain with `epochs` "
                                                 "0, then give the checkpoint to `init`)"))
      .unless(served && resume, "with `resume` " + not_served("whose recorded order covers a whole run"));
  describe_run(list);
  instruments.describe(list, !out.empty(), served ? not_served("whose workers do not synchronise at the same time") : "");
}

void TrainingArguments::describe_run(core::OptionList& list) {
  list.group("Run");
  worlds::describe_device(list, device).mark(core::OptionMark::common, core::OptionMark::unpredicted);
  list.text("out", out, "run folder for configuration, manifest, metrics and checkpoint")
      .path()
      .mark(core::OptionMark::common, core::OptionMark::observes);
  worlds::describe_overwrite(list, overwrite, out);
  list.number(saving_option, checkpoint_every, core::any_count,
              "blocks between two checkpoints for `resume` in the run folder; each epoch also ends with one (0: none)")
      .mark(core::OptionMark::observes)
      .off("0")
      .unless(out.empty(), "needs a run folder: give `out`");
  list.flag("resume", resume, "resume the interrupted run in `out`, with bit-identical results; start it if there is none")
      .typed_only()
      .unless(out.empty(), "needs a run folder: give `out`")
      .unless(overwrite, "continues the run that `overwrite` would remove: give one of them");
  list.flag("rescale", rescale,
            "with `resume`: go on with another number of workers, which ends in other weights; the learning rate, minibatch "
            "size and block momentum may change, too")
      .typed_only()
      .unless(!resume, "changes the number of workers of the run that `resume` continues: give both");
  list.flag("tensorboard", tensorboard,
            "write a TensorBoard event file into the run folder, with the contents of metrics.jsonl and the options")
      .mark(core::OptionMark::observes)
      .unless(out.empty(), "writes into the run folder: choose one with `out`");
  list.flag("quiet", quiet, "print only the result").mark(core::OptionMark::observes, core::OptionMark::of_one_rank);
}

void resolve(TrainingArguments& arguments) {
  train::TrainingOptions& options = arguments.options;
  if (arguments.gradient_bits != 32)
    options.strategy_settings["compression"] = core::format("bits:{}", arguments.gradient_bits);
  core::require_valid(arguments);
  if (arguments.rescale) train::require_rescalable(options);
  train::settle_model(options);
  train::settle_rate(options);
  keep_own_input("init", options.init, arguments.out + "/checkpoint.h5");
  keep_own_input("replay", arguments.replay, arguments.out + "/order.txt");
}

void settle(const cli::OptionUse& use, TrainingArguments& arguments) {
  use.check();
  train::TrainingOptions& options = arguments.options;
  for (core::Settings* settings : {&options.loss_settings, &options.loop_settings, &options.strategy_settings,
                                   &options.optimiser.settings, &options.schedule.settings})
    use.keep_used(*settings);
  if (arguments.gradient_bits != 32)
    options.strategy_settings["compression"] = core::format("bits:{}", arguments.gradient_bits);
}

void require_learning_rate(TrainingArguments& arguments) {
  train::TrainingOptions& options = arguments.options;
  if (options.epochs == 0 && options.schedule.initial_rate == 0) options.schedule.initial_rate = 1;  // unused
  if (options.schedule.initial_rate > 0) return;
  const std::string& optimiser = options.optimiser.name;
  const double customary = optim::customary_rate(optimiser);
  if (customary == 0 || arguments.rescale || options.rate_per != "minibatch" || options.schedule.name == "table")
    throw core::ConfigError(
        core::format("a learning rate is missing: give `learning-rate` or `lr-per-sample`{}",
                     customary == 0 ? core::format(" ({} has no customary one)", optimiser) : std::string()));
  options.schedule.initial_rate = customary;
  options.takes_customary_rate = true;
}

std::string config_of(const cli::OptionUse& use, const train::TrainingOptions& options) {
  std::string config = use.config();
  if (options.takes_customary_rate) config += core::format("learning-rate={}\n", options.schedule.initial_rate);
  return config;
}

std::uint64_t samples_to_train(const train::TrainingOptions& options, const train::TrainingData& source) {
  std::uint64_t epochs = 0;
  for (const train::TrainingOptions& phase : train::phases(options)) epochs += static_cast<std::uint64_t>(phase.epochs);
  const std::size_t blocks = source.partition->blocks();
  const std::size_t taken = options.max_blocks > 0 ? std::min(blocks, options.max_blocks) : blocks;
  return epochs * source.partition->samples() * taken / blocks;
}

}  // namespace paragrad::runs
