#include "app/training.hpp"

#include <algorithm>
#include <charconv>

#include "app/pretraining_arguments.hpp"
#include "app/server_arguments.hpp"
#include "app/shared_options.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "nn/zoo/zoo.hpp"
#include "train/pretraining.hpp"

namespace paragrad::app {
namespace {

void add_model_options(CLI::App& parser, train::Options& options) {
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
  parser
      .add_option("--target-error", options.target_error,
                  "end with the first sweep whose validation error, from 0 to 1, is no larger (below 0: train all sweeps)")
      ->check(CLI::Range(-1.0, 1.0))
      ->group("Task");
  parser
      .add_option("--validations", options.validations,
                  "in each sweep of all workers, spread over its blocks; gradients on their way are applied before")
      ->check(CLI::Range(1, 1000000))
      ->group("Task");
  parser.add_option("--keep-best", options.keep_best, "end with the model whose validation error is the least")
      ->group("Task");
  parser.add_option("--sweeps", options.sweeps, "passes over the training set (0: --pretrain-sweeps only)")
      ->check(CLI::Range(0, 1000000))
      ->group("Task");
  parser.add_option("--seed", options.seed, "of initial weights, partition and order of blocks")->group("Task");
  parser.add_option("--init", options.init, "checkpoint to start from")->group("Task");
}

/// What strategies that meet at the end of a block make of the mean update.
void add_block_options(CLI::App& parser, TrainingArguments& arguments) {
  constexpr const char* group = "Updates of a block";
  dist::StrategyOptions& strategy = arguments.options.strategy_options;
  parser.add_option("--bmuf-kind", strategy.bmuf_kind, "of momentum: classical, Nesterov's, or as CNTK computes that")
      ->check(known_names({"cbm", "nbm", "nbm_cntk"}))
      ->group(group);
  parser.add_option("--block-momentum", arguments.block_momentum, "block momentum, or auto for 1 - 1/N")->group(group);
  parser
      .add_option("--block-momentum-time-constant", strategy.block_momentum_time_constant,
                  "block momentum as exp(-B/T) for a block of B samples per worker, instead of --block-momentum (0: off)")
      ->group(group);
  parser
      .add_option("--block-learning-rate", strategy.block_learning_rate,
                  "weight of the mean update; cntk: in the end, of the sum of the workers' updates")
      ->group(group);
  parser.add_option("--block-learning-rate-form", strategy.block_learning_rate_form, "what --block-learning-rate says")
      ->check(CLI::IsMember({"paper", "cntk"}))
      ->group(group);
  parser.add_option("--slow-momentum", strategy.slow_momentum, "slowmo: of the mean update")->group(group);
  parser.add_option("--slow-learning-rate", strategy.slow_learning_rate, "slowmo: times the local learning rate")
      ->group(group);
  parser.add_option("--outer-learning-rate", strategy.outer_learning_rate, "diloco: weight of the mean update")
      ->group(group);
  parser.add_option("--outer-momentum", strategy.outer_momentum, "diloco: of the mean update")->group(group);
  parser.add_option("--reset-local-momentum", strategy.reset_local_momentum, "at each synchronisation, except diloco's")
      ->group(group);
}

/// What strategies that exchange gradients send.
void add_gradient_options(CLI::App& parser, TrainingArguments& arguments) {
  constexpr const char* group = "Gradients on the wire";
  dist::StrategyOptions& strategy = arguments.options.strategy_options;
  parser.add_option("--bucket-bytes", strategy.bucket_bytes, "data_parallel: gradients exchanged at once (0: all)")
      ->group(group);
  parser.add_option("--overlap", strategy.overlap, "data_parallel: exchange a bucket while the backward pass goes on")
      ->group(group);
  parser.add_option("--gradient-bits", arguments.gradient_bits, "data_parallel: 1, 2, 4, 8 or 16 per element; 32: all")
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
  train::Options& options = arguments.options;
  dist::StrategyOptions& strategy = options.strategy_options;
  parser.add_option("--strategy", options.strategy, "how the workers agree")
      ->check(known_names(names_of(dist::strategy_catalogue())))
      ->group("Distribution");
  add_collective_option(parser, strategy.collective)->group("Distribution");
  parser
      .add_option("--workers-per-node", arguments.workers_per_node,
                  "that hierarchical and auto take together (0: as found): the order of additions depends on it")
      ->check(CLI::Range(0, 1000000))
      ->group("Distribution");
  parser.add_option("--blocks", options.blocks, "M: blocks per sweep")
      ->check(CLI::Range(1, 100000000))
      ->group("Distribution");
  parser
      .add_option("--sync-period", options.sync_period,
                  "samples per worker between two synchronisations: decides the blocks (0: --blocks does; CNTK: 40000 for "
                  "model_averaging, 120000 for bmuf)")
      ->group("Distribution");
  parser
      .add_option("--max-blocks", options.max_blocks,
                  "of a sweep, the first that it comes to; the others are left out (0: all)")
      ->group("Distribution");
  parser.add_option("--splits", options.splits, "N: splits per block (0: one per worker)")->group("Distribution");
  parser
      .add_option("--model-parallel", options.model_parallel,
                  "workers that hold one replica together, each some outputs of every layer (1: every worker has its own)")
      ->check(CLI::Range(1, 1000000))
      ->group("Distribution");
  parser.add_option("--balance", options.balance, "give fast workers more samples, by the speeds measured block by block")
      ->group("Distribution");
  parser
      .add_option("--local-start-sweep", strategy.local_start_sweep,
                  "post_local_sgd: the first sweep whose gradients are not exchanged")
      ->check(CLI::Range(1, 1000000))
      ->group("Distribution");
  parser
      .add_option("--parallel-start-sweep", options.parallel_start_sweep,
                  "first sweep of all workers; those before are trained as by one (warm start)")
      ->check(CLI::Range(1, 1000000))
      ->group("Distribution");
  add_gradient_options(parser, arguments);
  add_block_options(parser, arguments);
}

void add_minibatch_options(CLI::App& parser, train::Options& options) {
  train::MinibatchSearchOptions& search = options.minibatch_search;
  constexpr const char* group = "Minibatch";
  parser
      .add_option("--minibatch", options.minibatch,
                  "samples; for sgd and data_parallel of all workers together; 0: a whole block")
      ->group(group);
  parser.add_option("--auto-minibatch", search.enabled, "try larger minibatches now and then, keep what does no harm")
      ->group(group);
  parser.add_option("--minibatch-tuning-frequency", search.frequency, "sweeps between two tries")->group(group);
  parser.add_option("--minibatch-max", search.largest, "samples")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 30))
      ->group(group);
  parser
      .add_option("--minibatch-error-margin", search.margin_percent,
                  "percent by which the loss may be above the smallest size's")
      ->group(group);
  parser.add_option("--minibatch-search-samples", search.samples, "that each try trains (0: 500 minibatches)")->group(group);
}

void add_learning_rate_options(CLI::App& parser, TrainingArguments& arguments) {
  constexpr const char* group = "Learning rate";
  train::Options& options = arguments.options;
  parser.add_option("--learning-rate", options.schedule.initial_rate, "initial learning rate")->group(group);
  parser.add_option("--learning-rate-per", options.rate_per, "what the learning rate is for")
      ->check(CLI::IsMember({"minibatch", "sample"}))
      ->group(group);
  parser
      .add_option("--lr-per-sample", arguments.lr_per_sample, "initial learning rate per sample, instead of --learning-rate")
      ->group(group);
  parser.add_option("--schedule", options.schedule.name, "of the learning rate over sweeps")
      ->check(known_names(optim::schedule_names()))
      ->group(group);
  parser.add_option("--schedule-factor", options.schedule.factor, "of the learning rate")->group(group);
  parser.add_option("--schedule-every", options.schedule.every, "sweeps (step)")->group(group);
  parser
      .add_option("--schedule-rates", options.schedule.rates,
                  "one per sweep, separated by commas, the first equal to --learning-rate (table)")
      ->delimiter(',')
      ->default_str("")  // an empty list is not written into config.toml
      ->group(group);
  parser
      .add_option("--newbob-improvement", options.schedule.newbob_improvement,
                  "relative fall of the validation loss that is progress")
      ->group(group);
  parser.add_option("--newbob-restore", options.schedule.newbob_restore, "go back to the best model")->group(group);
}

void add_optimiser_options(CLI::App& parser, TrainingArguments& arguments) {
  constexpr const char* group = "Local optimiser";
  train::Options& options = arguments.options;
  parser.add_option("--optimiser", options.optimiser.name, "how a worker changes its parameters")
      ->check(known_names(optim::optimiser_names()))
      ->group(group);
  parser.add_option("--lars-trust", options.optimiser.lars_trust, "lars: share of a matrix's norm that it moves at rate 1")
      ->group(group);
  parser.add_option("--adam-beta1", options.optimiser.adam_beta1, "adam, adamw: share of the mean gradient that is kept")
      ->group(group);
  parser.add_option("--adam-beta2", options.optimiser.adam_beta2, "adam, adamw: share of the mean square that is kept")
      ->group(group);
  parser.add_option("--adam-epsilon", options.optimiser.adam_epsilon, "adam, adamw: beside the root mean square")
      ->group(group);
  parser.add_option("--momentum", options.momentum, "per minibatch")->group(group);
  parser
      .add_option("--momentum-time-constant", options.momentum_time_constant,
                  "momentum as exp(-n/T) for an update of n samples, instead of --momentum (0: off)")
      ->group(group);
  parser.add_option("--unit-gain-momentum", options.unit_gain, "v = mu v + (1 - mu) g, as CNTK does it")->group(group);
  parser
      .add_option("--l2", options.l2, "strength of the penalty l2/2 |w|^2 per sample; adamw: of the decay past the moments")
      ->check(CLI::NonNegativeNumber)
      ->group(group);
  parser
      .add_option("--clip-gradient", options.optimiser.clip_per_sample,
                  "threshold per sample of what a rule takes in: a minibatch's gradient is limited to so much times its "
                  "samples (0: not)")
      ->check(CLI::NonNegativeNumber)
      ->group(group);
  parser.add_option("--clip", options.optimiser.clip, "truncate each element, or the norm of each matrix")
      ->check(CLI::IsMember({"truncate", "norm"}))
      ->group(group);
  parser
      .add_option("--max-norm", options.optimiser.max_norm,
                  "of the weights by which a unit sees its inputs, held after each update (0: any)")
      ->check(CLI::NonNegativeNumber)
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
  parser
      .add_option("--checkpoint-every", arguments.checkpoint_every,
                  "blocks after which, and at the end of each sweep, what --resume needs is written to --out (0: never)")
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
  train::Options& options = arguments.options;
  if (arguments.lr_per_sample > 0) {
    if (options.schedule.initial_rate > 0)
      throw core::ConfigError("give either --learning-rate or --lr-per-sample, not both");
    options.schedule.initial_rate = arguments.lr_per_sample;
    options.rate_per = "sample";
  }
  dist::StrategyOptions& strategy = arguments.options.strategy_options;
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
  if (options.balance && options.model_parallel > 1)
    throw core::ConfigError(
        "--balance gives each worker a share of its own, and those of a --model-parallel group need one");
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
  for (const auto& entry : dist::strategy_catalogue()) dist::make_strategy(entry.name, strategy);
  check_server_arguments(arguments);
}

void require_learning_rate(train::Options& options) {
  if (options.sweeps == 0 && options.schedule.initial_rate == 0) options.schedule.initial_rate = 1;  // of nothing
  if (options.schedule.initial_rate == 0)
    throw core::ConfigError("the learning rate 0 must be above 0: give --learning-rate or --lr-per-sample");
}

std::uint64_t samples_to_train(const train::Options& options, const train::Source& source) {
  std::uint64_t sweeps = 0;
  for (const train::Options& phase : train::phases(options)) sweeps += static_cast<std::uint64_t>(phase.sweeps);
  const std::size_t blocks = source.partition->blocks();
  const std::size_t taken = options.max_blocks > 0 ? std::min(blocks, options.max_blocks) : blocks;
  return sweeps * source.partition->samples() * taken / blocks;
}

}  // namespace paragrad::app
