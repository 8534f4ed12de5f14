#include "app/training.hpp"

#include <algorithm>
#include <charconv>

#include "app/number_options.hpp"
#include "app/pretraining_arguments.hpp"
#include "app/server_arguments.hpp"
#include "app/shared_options.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "nn/zoo/zoo.hpp"
#include "train/pretraining.hpp"

namespace paragrad::app {
namespace {

void add_model_options(CLI::App& parser, train::TrainingOptions& options) {
  parser.add_option("--data", options.data, "data file (HDF5, see data/README.md)")->group("Task");
  parser
      .add_option("--model", options.model,
                  core::format("widths and hidden activation, like 784-512-256-10:sigmoid or 440-5x1024-1000:relu; or "
                               "zoo:NAME, with --device meta as a rule: {}",
                               fmt::join(names_of(nn::zoo_catalogue()), ", ")))
      ->required()
      ->group("Task");
  add_loss_option(parser, options.loss)->group("Task");
  parser
      .add_option("--context", options.context, "frames left and right seen with each, as 5+5, instead of the data file's")
      ->group("Task");
  parser
      .add_option("--chunks", options.chunks,
                  "recurrent models train on chunks of sequences, frames with context before and after (21-64+21), that may "
                  "overlap (21-64+21/32), or whole")
      ->group("Task");
  add_number(parser, "--target-error", options.target_error, {.least = -1, .most = 1},
             "end with the first epoch whose validation error, from 0 to 1, is no larger (below 0: train all epochs)")
      ->group("Task");
  add_number(parser, "--validations", options.validations, {.least = 1, .most = 1000000},
             "in each epoch of all workers, spread over its blocks; gradients on their way are applied before")
      ->group("Task");
  parser.add_option("--keep-best", options.keep_best, "end with the model whose validation error is the least")
      ->group("Task");
  add_number(parser, "--epochs", options.epochs, {.least = 0, .most = 1000000},
             "passes over the training set (0: --pretrain-epochs only)")
      ->group("Task");
  add_number(parser, "--seed", options.seed, any_seed, "of initial weights, partition and order of blocks")->group("Task");
  parser.add_option("--init", options.init, "checkpoint to start from")->group("Task");
}

/// What strategies that meet at the end of a block make of the mean update.
void add_block_options(CLI::App& parser, TrainingArguments& arguments) {
  constexpr const char* group = "Updates of a block";
  strategies::StrategyOptions& strategy = arguments.options.strategy_options;
  parser.add_option("--bmuf-kind", strategy.bmuf_kind, "of momentum: classical, Nesterov's, or as CNTK computes that")
      ->check(known_names({"cbm", "nbm", "nbm_cntk"}))
      ->group(group);
  parser.add_option("--block-momentum", arguments.block_momentum, "block momentum, or auto for 1 - 1/N")->group(group);
  add_number(parser, "--block-momentum-time-constant", strategy.block_momentum_time_constant, zero_or_more,
             "block momentum as exp(-B/T) for a block of B samples per worker, instead of --block-momentum (0: off)")
      ->group(group);
  add_number(parser, "--block-learning-rate", strategy.block_learning_rate, above_zero,
             "weight of the mean update; cntk: in the end, of the sum of the workers' updates")
      ->group(group);
  parser.add_option("--block-learning-rate-form", strategy.block_learning_rate_form, "what --block-learning-rate says")
      ->check(CLI::IsMember({"paper", "cntk"}))
      ->group(group);
  add_number(parser, "--slow-momentum", strategy.slow_momentum, below_one, "slowmo: of the mean update")->group(group);
  add_number(parser, "--slow-learning-rate", strategy.slow_learning_rate, above_zero,
             "slowmo: times the local learning rate")
      ->group(group);
  add_number(parser, "--outer-learning-rate", strategy.outer_learning_rate, above_zero, "diloco: weight of the mean update")
      ->group(group);
  add_number(parser, "--outer-momentum", strategy.outer_momentum, below_one, "diloco: of the mean update")->group(group);
  parser.add_option("--reset-local-momentum", strategy.reset_local_momentum, "at each synchronisation, except diloco's")
      ->group(group);
}

/// What strategies that exchange gradients send.
void add_gradient_options(CLI::App& parser, TrainingArguments& arguments) {
  constexpr const char* group = "Gradients on the wire";
  strategies::StrategyOptions& strategy = arguments.options.strategy_options;
  add_number(parser, "--bucket-bytes", strategy.bucket_bytes, any_count,
             "data_parallel: gradients exchanged at once (0: all)")
      ->group(group);
  parser.add_option("--overlap", strategy.overlap, "data_parallel: exchange a bucket while the backward pass goes on")
      ->group(group);
  add_number(parser, "--gradient-bits", arguments.gradient_bits, {.least = 1, .most = 32},
             "data_parallel: 1, 2, 4, 8 or 16 per element; 32: all")
      ->group(group);
  const auto compressions = comm::compression_catalogue();
  parser
      .add_option("--compression", strategy.compression.name,
                  "data_parallel: of gradients; " + with_parameters(compressions, &comm::CompressionEntry::parameter))
      ->check(known_names(names_of(compressions)))
      ->group(group);
  parser.add_option("--quantise-threshold", arguments.quantise_threshold, "1 bit: zero, or mean of each column")
      ->check(CLI::IsMember({"zero", "mean"}))
      ->group(group);
  parser.add_option("--error-feedback", strategy.compression.error_feedback, "add what was left out to the next gradient")
      ->group(group);
  parser
      .add_option("--buffered", strategy.buffered,
                  "data_parallel: a gradient is exchanged during the next minibatch and applied one minibatch late")
      ->group(group);
}

void add_strategy_options(CLI::App& parser, TrainingArguments& arguments) {
  train::TrainingOptions& options = arguments.options;
  strategies::StrategyOptions& strategy = options.strategy_options;
  parser.add_option("--strategy", options.strategy, "how the workers agree")
      ->check(known_names(names_of(strategies::strategy_catalogue())))
      ->group("Distribution");
  add_collective_option(parser, strategy.collective)->group("Distribution");
  add_number(parser, "--workers-per-node", arguments.workers_per_node, {.least = 0, .most = 1000000},
             "that hierarchical and auto take together (0: as found): the order of additions depends on it")
      ->group("Distribution");
  add_number(parser, "--blocks", options.blocks, {.least = 1, .most = 100000000}, "M: blocks per epoch")
      ->group("Distribution");
  add_number(parser, "--sync-period", options.sync_period, {.least = 0, .most = 1'000'000'000'000},
             "samples per worker between two synchronisations: decides the blocks (0: --blocks does; CNTK: 40000 for "
             "model_averaging, 120000 for bmuf)")
      ->group("Distribution");
  add_number(parser, "--max-blocks", options.max_blocks, any_count,
             "of an epoch, the first that it comes to; the others are left out (0: all)")
      ->group("Distribution");
  add_number(parser, "--splits", options.splits, {.least = 0, .most = 100000000}, "N: splits per block (0: one per worker)")
      ->group("Distribution");
  add_number(parser, "--tensor-parallel", options.tensor_parallel, {.least = 1, .most = 1000000},
             "workers that hold one replica together, each some outputs of every layer (1: every worker has its own)")
      ->group("Distribution");
  parser.add_option("--balance", options.balance, "give fast workers more samples, by the speeds measured block by block")
      ->group("Distribution");
  add_number(parser, "--local-start-epoch", strategy.local_start_epoch, {.least = 1, .most = 1000000},
             "post_local_sgd: the first epoch whose gradients are not exchanged")
      ->group("Distribution");
  add_number(parser, "--parallel-start-epoch", options.parallel_start_epoch, {.least = 1, .most = 1000000},
             "first epoch of all workers; those before are trained as by one (warm start)")
      ->group("Distribution");
  add_gradient_options(parser, arguments);
  add_block_options(parser, arguments);
}

void add_minibatch_options(CLI::App& parser, train::TrainingOptions& options) {
  train::MinibatchSearchOptions& search = options.minibatch_search;
  constexpr const char* group = "Minibatch";
  add_number(parser, "--minibatch", options.minibatch, any_count,
             "samples; for sgd and data_parallel of all workers together; 0: a whole block")
      ->group(group);
  parser.add_option("--auto-minibatch", search.enabled, "try larger minibatches now and then, keep what does no harm")
      ->group(group);
  add_number(parser, "--minibatch-tuning-frequency", search.frequency, {.least = 1, .most = 1000000},
             "epochs between two tries")
      ->group(group);
  add_number(parser, "--minibatch-max", search.largest, a_minibatch, "samples")->group(group);
  add_number(parser, "--minibatch-error-margin", search.margin_percent, zero_or_more,
             "percent by which the loss may be above the smallest size's")
      ->group(group);
  add_number(parser, "--minibatch-search-samples", search.samples, any_count, "that each try trains (0: 500 minibatches)")
      ->group(group);
}

void add_learning_rate_options(CLI::App& parser, TrainingArguments& arguments) {
  constexpr const char* group = "Learning rate";
  train::TrainingOptions& options = arguments.options;
  add_number(parser, "--learning-rate", options.schedule.initial_rate, zero_or_more, "initial learning rate")->group(group);
  parser.add_option("--learning-rate-per", options.rate_per, "what the learning rate is for")
      ->check(CLI::IsMember({"minibatch", "sample"}))
      ->group(group);
  add_number(parser, "--lr-per-sample", arguments.lr_per_sample, above_zero,
             "initial learning rate per sample, instead of --learning-rate")
      ->group(group);
  parser.add_option("--schedule", options.schedule.name, "of the learning rate over epochs")
      ->check(known_names(optim::schedule_names()))
      ->group(group);
  add_number(parser, "--schedule-factor", options.schedule.factor, {.least = 0, .most = 1, .without_least = true},
             "of the learning rate")
      ->group(group);
  add_number(parser, "--schedule-every", options.schedule.every, {.least = 1, .most = 1000000}, "epochs (step)")
      ->group(group);
  add_numbers(parser, "--schedule-rates", options.schedule.rates, above_zero,
              "one per epoch, separated by commas, the first equal to --learning-rate (table)")
      ->group(group);
  add_number(parser, "--newbob-improvement", options.schedule.newbob_improvement, zero_or_more,
             "relative fall of the validation loss that is progress")
      ->group(group);
  parser.add_option("--newbob-restore", options.schedule.newbob_restore, "go back to the best model")->group(group);
}

void add_optimiser_options(CLI::App& parser, TrainingArguments& arguments) {
  constexpr const char* group = "Local optimiser";
  train::TrainingOptions& options = arguments.options;
  parser.add_option("--optimiser", options.optimiser.name, "how a worker changes its parameters")
      ->check(known_names(optim::optimiser_names()))
      ->group(group);
  add_number(parser, "--lars-trust", options.optimiser.lars_trust, above_zero,
             "lars: share of a matrix's norm that it moves at rate 1")
      ->group(group);
  add_number(parser, "--adam-beta1", options.optimiser.adam_beta1, below_one,
             "adam, adamw: share of the mean gradient that is kept")
      ->group(group);
  add_number(parser, "--adam-beta2", options.optimiser.adam_beta2, below_one,
             "adam, adamw: share of the mean square that is kept")
      ->group(group);
  add_number(parser, "--adam-epsilon", options.optimiser.adam_epsilon, above_zero,
             "adam, adamw: added to the root mean square")
      ->group(group);
  add_number(parser, "--momentum", options.momentum, below_one, "per minibatch")->group(group);
  add_number(parser, "--momentum-time-constant", options.momentum_time_constant, zero_or_more,
             "momentum as exp(-n/T) for an update of n samples, instead of --momentum (0: off)")
      ->group(group);
  parser.add_option("--unit-gain-momentum", options.unit_gain, "v = mu v + (1 - mu) g, as CNTK does it")->group(group);
  add_number(parser, "--l2", options.l2, zero_or_more,
             "strength of the penalty l2/2 |w|^2 per sample; adamw: of the decay past the moments")
      ->group(group);
  add_number(parser, "--clip-gradient", options.optimiser.clip_per_sample, zero_or_more,
             "threshold per sample of what a rule takes in: a minibatch's gradient is limited to so much times its "
             "samples (0: not)")
      ->group(group);
  parser.add_option("--clip", options.optimiser.clip, "truncate each element, or the norm of each matrix")
      ->check(CLI::IsMember({"truncate", "norm"}))
      ->group(group);
  add_number(parser, "--max-norm", options.optimiser.max_norm, zero_or_more,
             "of the weights by which a unit sees its inputs, held after each update (0: any)")
      ->group(group);
}

}  // namespace

void add_training_options(CLI::App& parser, TrainingArguments& arguments) {
  accept_config_file(parser);
  add_model_options(parser, arguments.options);
  add_strategy_options(parser, arguments);
  add_server_options(parser, arguments);
  add_optimiser_options(parser, arguments);
  add_learning_rate_options(parser, arguments);
  add_minibatch_options(parser, arguments.options);
  add_pretraining_options(parser, arguments.options.pretraining);
  add_device_option(parser, arguments.device)->group("Run");
  parser.add_option("--out", arguments.out, "folder for configuration, manifest, metrics and checkpoint")->group("Run");
  parser.add_flag("--overwrite", arguments.overwrite, "replace the run in that folder")->configurable(false)->group("Run");
  add_number(parser, "--checkpoint-every", arguments.checkpoint_every, any_count,
             "blocks after which, and at the end of each epoch, what --resume needs is written to --out (0: never)")
      ->group("Run");
  parser
      .add_flag("--resume", arguments.resume,
                "take up the run in --out where it was interrupted, to the same bits; start it if there is none")
      ->configurable(false)
      ->group("Run");
  parser
      .add_flag("--tensorboard", arguments.tensorboard,
                "write an event file for TensorBoard into the run folder: what metrics.jsonl tells, and the options")
      ->group("Run");
  parser.add_flag("--quiet", arguments.quiet, "print the result only")->group("Run");
  add_instrument_options(parser, arguments.instruments);
}

void resolve(TrainingArguments& arguments) {
  train::TrainingOptions& options = arguments.options;
  if (arguments.lr_per_sample > 0) {
    if (options.schedule.initial_rate > 0)
      throw core::ConfigError("give either --learning-rate or --lr-per-sample, not both");
    options.schedule.initial_rate = arguments.lr_per_sample;
    options.rate_per = "sample";
  }
  strategies::StrategyOptions& strategy = arguments.options.strategy_options;
  const std::string& text = arguments.block_momentum;
  if (text != "auto") {
    double value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || rest != text.data() + text.size())
      throw core::ConfigError(core::format("--block-momentum: '{}' is neither a number nor auto", text));
    strategy.block_momentum = value;
  }
  strategy.compression.threshold_at_mean = arguments.quantise_threshold == "mean";
  strategy.compression.seed = options.seed;
  if (arguments.gradient_bits != 32) {
    if (strategy.compression.name != "none")
      throw core::ConfigError("give either --gradient-bits or --compression, not both");
    strategy.compression.name = core::format("bits:{}", arguments.gradient_bits);
  }
  if (options.balance && options.tensor_parallel > 1)
    throw core::ConfigError(
        "--balance gives each worker a share of its own, and those of a --tensor-parallel group need one");
  if (arguments.out.empty() && (arguments.resume || arguments.checkpoint_every > 0))
    throw core::ConfigError("--resume and --checkpoint-every need the folder of the run: --out");
  if (arguments.resume && arguments.overwrite)
    throw core::ConfigError("--resume takes up what --overwrite would remove: give one of them");
  if (arguments.tensorboard && arguments.out.empty())
    throw core::ConfigError("--tensorboard writes into the run folder: choose one with --out");
  if (arguments.instruments.timeline && arguments.out.empty())
    throw core::ConfigError("--timeline writes into the run folder: choose one with --out");
  comm::make_gradient_sum(strategy.compression);
  strategy.server.queue = arguments.work == "queue";
  // Every value is checked, whether this run uses it or not.
  for (const auto& entry : strategies::strategy_catalogue()) strategies::make_strategy(entry.name, strategy);
  check_server_arguments(arguments);
}

void require_learning_rate(train::TrainingOptions& options) {
  if (options.epochs == 0 && options.schedule.initial_rate == 0) options.schedule.initial_rate = 1;  // of nothing
  if (options.schedule.initial_rate == 0)
    throw core::ConfigError("the learning rate 0 must be above 0: give --learning-rate or --lr-per-sample");
}

std::uint64_t samples_to_train(const train::TrainingOptions& options, const train::TrainingData& source) {
  std::uint64_t epochs = 0;
  for (const train::TrainingOptions& phase : train::phases(options)) epochs += static_cast<std::uint64_t>(phase.epochs);
  const std::size_t blocks = source.partition->blocks();
  const std::size_t taken = options.max_blocks > 0 ? std::min(blocks, options.max_blocks) : blocks;
  return epochs * source.partition->samples() * taken / blocks;
}

}  // namespace paragrad::app
