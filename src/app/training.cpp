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
                  core::format("network: layer widths and hidden activation, such as 784-512-256-10:sigmoid or "
                               "440-5x1024-1000:relu, or zoo:NAME (most need --device meta): {}",
                               fmt::join(names_of(nn::zoo_catalogue()), ", ")))
      ->required()
      ->group("Task");
  add_loss_option(parser, options.loss)->group("Task");
  parser
      .add_option("--context", options.context,
                  "frames of context left and right of each frame, such as 5+5 (default: as in the data file)")
      ->group("Task");
  parser
      .add_option("--chunks", options.chunks,
                  "recurrent models: train on whole sequences (whole), or on chunks with frames of context before and after "
                  "(21-64+21), which may overlap (21-64+21/32)")
      ->group("Task");
  add_number(parser, "--target-error", options.target_error, {.least = -1, .most = 1},
             "stop after the first epoch with a validation error, from 0 to 1, of at most this (below 0: train all epochs)")
      ->group("Task");
  add_number(parser, "--validations", options.validations, {.least = 1, .most = 1000000},
             "validation runs per epoch of all workers, spread over its blocks; in-flight gradients are applied first")
      ->group("Task");
  parser.add_option("--keep-best", options.keep_best, "end with the model that has the lowest validation error")
      ->group("Task");
  add_number(parser, "--epochs", options.epochs, {.least = 0, .most = 1000000},
             "passes over the training set (0: pretrain only, see --pretrain-epochs)")
      ->group("Task");
  add_number(parser, "--seed", options.seed, any_seed, "random seed of initial weights, partition and block order")
      ->group("Task");
  parser.add_option("--init", options.init, "checkpoint to start from")->group("Task");
}

/// Options of strategies that average the workers' updates at the end of each block.
void add_block_options(CLI::App& parser, TrainingArguments& arguments) {
  constexpr const char* group = "Block updates";
  strategies::StrategyOptions& strategy = arguments.options.strategy_options;
  parser
      .add_option(
          "--bmuf-kind", strategy.bmuf_kind,
          "bmuf, bmuf_adam: block momentum, classical (cbm), Nesterov (nbm), or Nesterov as CNTK computes it (nbm_cntk)")
      ->check(known_names({"cbm", "nbm", "nbm_cntk"}))
      ->group(group);
  parser
      .add_option("--block-momentum", arguments.block_momentum,
                  "bmuf, bmuf_adam: block momentum coefficient, or auto for 1 - 1/N with N workers")
      ->group(group);
  add_number(
      parser, "--block-momentum-time-constant", strategy.block_momentum_time_constant, zero_or_more,
      "bmuf, bmuf_adam: time constant T of block momentum in samples per worker, which replaces --block-momentum: a block "
      "of B samples per worker uses exp(-B/T) (0: off)")
      ->group(group);
  add_number(parser, "--block-learning-rate", strategy.block_learning_rate, above_zero,
             "bmuf, bmuf_adam: weight of the averaged update (with form cntk: asymptotic weight of the summed updates)")
      ->group(group);
  parser
      .add_option("--block-learning-rate-form", strategy.block_learning_rate_form,
                  "bmuf, bmuf_adam: definition of --block-learning-rate, the paper's or CNTK's")
      ->check(CLI::IsMember({"paper", "cntk"}))
      ->group(group);
  add_number(parser, "--slow-momentum", strategy.slow_momentum, below_one,
             "slowmo: momentum coefficient of the averaged update")
      ->group(group);
  add_number(parser, "--slow-learning-rate", strategy.slow_learning_rate, above_zero,
             "slowmo: slow learning rate, as a multiple of the local learning rate")
      ->group(group);
  add_number(parser, "--outer-learning-rate", strategy.outer_learning_rate, above_zero,
             "diloco: outer learning rate, the weight of the averaged update")
      ->group(group);
  add_number(parser, "--outer-momentum", strategy.outer_momentum, below_one,
             "diloco: Nesterov momentum coefficient of the averaged update")
      ->group(group);
  parser
      .add_option("--reset-local-momentum", strategy.reset_local_momentum,
                  "model_averaging, bmuf, slowmo, post_local_sgd: reset the workers' momentum at each synchronisation")
      ->group(group);
}

/// Options of strategies that exchange gradients.
void add_gradient_options(CLI::App& parser, TrainingArguments& arguments) {
  constexpr const char* group = "Gradient exchange";
  strategies::StrategyOptions& strategy = arguments.options.strategy_options;
  add_number(parser, "--bucket-bytes", strategy.bucket_bytes, any_count,
             "data_parallel: size of a gradient bucket in bytes (0: one bucket for all gradients)")
      ->group(group);
  parser.add_option("--overlap", strategy.overlap, "data_parallel: exchange buckets during the backward pass")->group(group);
  add_number(parser, "--gradient-bits", arguments.gradient_bits, {.least = 1, .most = 32},
             "data_parallel: bits per exchanged gradient element: 1, 2, 4, 8, 16, or 32 (uncompressed)")
      ->group(group);
  const auto compressions = comm::compression_catalogue();
  parser
      .add_option("--compression", strategy.compression.name,
                  "data_parallel: gradient compression, with parameters as in " +
                      with_parameters(compressions, &comm::CompressionEntry::parameter))
      ->check(known_names(names_of(compressions)))
      ->group(group);
  parser
      .add_option("--quantise-threshold", arguments.quantise_threshold,
                  "gradients of 1 bit: quantisation threshold, zero or the mean of each column")
      ->check(CLI::IsMember({"zero", "mean"}))
      ->group(group);
  parser
      .add_option("--error-feedback", strategy.compression.error_feedback,
                  "add the compression error of each gradient to the next one")
      ->group(group);
  parser
      .add_option("--buffered", strategy.buffered,
                  "data_parallel: exchange each gradient during the next minibatch, and apply it one minibatch late")
      ->group(group);
}

void add_strategy_options(CLI::App& parser, TrainingArguments& arguments) {
  train::TrainingOptions& options = arguments.options;
  strategies::StrategyOptions& strategy = options.strategy_options;
  parser.add_option("--strategy", options.strategy, "distributed training algorithm")
      ->check(known_names(names_of(strategies::strategy_catalogue())))
      ->group("Distribution");
  add_collective_option(parser, strategy.collective)->group("Distribution");
  add_number(parser, "--workers-per-node", arguments.workers_per_node, {.least = 0, .most = 1000000},
             "collectives hierarchical and auto: workers per node (0: as detected); the order of additions depends on it")
      ->group("Distribution");
  add_number(parser, "--blocks", options.blocks, {.least = 1, .most = 100000000}, "M: blocks per epoch")
      ->group("Distribution");
  add_number(parser, "--sync-period", options.sync_period, {.least = 0, .most = 1'000'000'000'000},
             "samples per worker between two synchronisations, which sets the number of blocks (0: use --blocks; CNTK's "
             "defaults are 40000 for model_averaging, 120000 for bmuf)")
      ->group("Distribution");
  add_number(parser, "--max-blocks", options.max_blocks, any_count,
             "number of blocks to train in each epoch; the rest are skipped (0: all)")
      ->group("Distribution");
  add_number(parser, "--splits", options.splits, {.least = 0, .most = 100000000}, "N: splits per block (0: one per worker)")
      ->group("Distribution");
  add_number(parser, "--tensor-parallel", options.tensor_parallel, {.least = 1, .most = 1000000},
             "tensor parallelism: workers per replica, each holding some outputs of every layer (1: one replica per worker)")
      ->group("Distribution");
  parser
      .add_option("--balance", options.balance,
                  "give faster workers more samples, according to their speed measured block by block")
      ->group("Distribution");
  add_number(parser, "--local-start-epoch", strategy.local_start_epoch, {.least = 1, .most = 1000000},
             "post_local_sgd: first epoch of local training, in which gradients are no longer exchanged")
      ->group("Distribution");
  add_number(parser, "--parallel-start-epoch", options.parallel_start_epoch, {.least = 1, .most = 1000000},
             "first epoch trained by all workers; earlier ones are trained as by a single worker (warm start)")
      ->group("Distribution");
  add_gradient_options(parser, arguments);
  add_block_options(parser, arguments);
}

void add_minibatch_options(CLI::App& parser, train::TrainingOptions& options) {
  train::MinibatchSearchOptions& search = options.minibatch_search;
  constexpr const char* group = "Minibatch";
  add_number(parser, "--minibatch", options.minibatch, any_count,
             "minibatch size in samples, per worker; with sgd and data_parallel over all workers (0: a whole block)")
      ->group(group);
  add_number(parser, "--micro-batch", options.micro_batch, any_count,
             "process each worker's part of a minibatch in micro-batches of at most this many samples, whose gradients are "
             "added up: the same step with less memory for activations (0: all at once)")
      ->group(group);
  parser
      .add_option("--auto-minibatch", search.enabled,
                  "periodically try larger minibatches, and keep the largest within --minibatch-error-margin")
      ->group(group);
  add_number(parser, "--minibatch-tuning-frequency", search.frequency, {.least = 1, .most = 1000000},
             "epochs between two searches for a larger minibatch")
      ->group(group);
  add_number(parser, "--minibatch-max", search.largest, a_minibatch, "largest minibatch to try, in samples")->group(group);
  add_number(parser, "--minibatch-error-margin", search.margin_percent, zero_or_more,
             "percent by which a larger minibatch may increase the loss over that of the smallest size tried")
      ->group(group);
  add_number(parser, "--minibatch-search-samples", search.samples, any_count,
             "samples to train on for each minibatch size tried (0: 500 minibatches)")
      ->group(group);
}

void add_learning_rate_options(CLI::App& parser, TrainingArguments& arguments) {
  constexpr const char* group = "Learning rate";
  train::TrainingOptions& options = arguments.options;
  add_number(parser, "--learning-rate", options.schedule.initial_rate, zero_or_more, "initial learning rate")->group(group);
  parser
      .add_option("--learning-rate-per", options.rate_per,
                  "unit of the learning rate: per minibatch of the configured size, or per sample")
      ->check(CLI::IsMember({"minibatch", "sample"}))
      ->group(group);
  add_number(parser, "--lr-per-sample", arguments.lr_per_sample, above_zero,
             "initial learning rate per sample, instead of --learning-rate")
      ->group(group);
  parser.add_option("--schedule", options.schedule.name, "learning rate schedule over the epochs")
      ->check(known_names(optim::schedule_names()))
      ->group(group);
  add_number(parser, "--schedule-factor", options.schedule.factor, {.least = 0, .most = 1, .without_least = true},
             "exponential, step, newbob: factor by which the learning rate is multiplied")
      ->group(group);
  add_number(parser, "--schedule-every", options.schedule.every, {.least = 1, .most = 1000000},
             "step: epochs between two changes of the learning rate")
      ->group(group);
  add_numbers(parser, "--schedule-rates", options.schedule.rates, above_zero,
              "table: learning rates, one per epoch, separated by commas; the first must equal --learning-rate")
      ->group(group);
  add_number(parser, "--newbob-improvement", options.schedule.newbob_improvement, zero_or_more,
             "newbob: smallest relative decrease of the validation loss that counts as progress")
      ->group(group);
  parser
      .add_option("--newbob-restore", options.schedule.newbob_restore,
                  "newbob: return to the best model when progress stops")
      ->group(group);
}

void add_optimiser_options(CLI::App& parser, TrainingArguments& arguments) {
  constexpr const char* group = "Local optimiser";
  train::TrainingOptions& options = arguments.options;
  parser
      .add_option("--optimiser", options.optimiser.name,
                  "update rule of the parameters, at each worker or at the parameter servers")
      ->check(known_names(optim::optimiser_names()))
      ->group(group);
  add_number(parser, "--lars-trust", options.optimiser.lars_trust, above_zero,
             "lars: trust coefficient, the share of its norm that a matrix moves at learning rate 1")
      ->group(group);
  add_number(parser, "--beta1", options.optimiser.beta1, below_one,
             "adam, adamw, lion: decay rate of the mean gradient (auto: the published one)")
      ->group(group);
  add_number(parser, "--beta2", options.optimiser.beta2, below_one,
             "adam, adamw, rmsprop, adadelta: decay rate of the mean squared gradient; lion: of the mean gradient kept for "
             "the next step (auto: the published one)")
      ->group(group);
  add_number(parser, "--epsilon", options.optimiser.epsilon, above_zero,
             "adam, adamw, adagrad, rmsprop, adadelta: added to the denominator of the update (auto: the published one)")
      ->group(group);
  add_number(parser, "--momentum", options.momentum, below_one, "momentum coefficient per minibatch")->group(group);
  add_number(
      parser, "--momentum-time-constant", options.momentum_time_constant, zero_or_more,
      "time constant T of momentum in samples, which replaces --momentum: an update of n samples uses exp(-n/T) (0: off)")
      ->group(group);
  parser
      .add_option("--unit-gain-momentum", options.unit_gain, "use the momentum update v = mu v + (1 - mu) g, as CNTK does")
      ->group(group);
  add_number(parser, "--l2", options.l2, zero_or_more,
             "strength of the L2 penalty l2/2 |w|^2 per sample; adamw, lion: strength of the decoupled weight decay")
      ->group(group);
  add_number(parser, "--clip-gradient", options.optimiser.clip_per_sample, zero_or_more,
             "gradient clipping threshold per sample: the summed gradient of n samples is limited to n times this (0: off)")
      ->group(group);
  parser
      .add_option("--clip", options.optimiser.clip,
                  "gradient clipping method: truncate each element, or limit the norm of each matrix")
      ->check(CLI::IsMember({"truncate", "norm"}))
      ->group(group);
  add_number(parser, "--max-norm", options.optimiser.max_norm, zero_or_more,
             "maximum L2 norm of each unit's incoming weights, enforced after every update (0: no maximum)")
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
  parser.add_option("--out", arguments.out, "run folder for configuration, manifest, metrics and checkpoint")->group("Run");
  parser.add_flag("--overwrite", arguments.overwrite, "replace an existing run in the --out folder")
      ->configurable(false)
      ->group("Run");
  add_number(parser, "--checkpoint-every", arguments.checkpoint_every, any_count,
             "blocks between two checkpoints for --resume in the run folder; each epoch also ends with one (0: none)")
      ->group("Run");
  parser
      .add_flag("--resume", arguments.resume,
                "resume the interrupted run in --out, with bit-identical results; start it if there is none")
      ->configurable(false)
      ->group("Run");
  parser
      .add_flag("--tensorboard", arguments.tensorboard,
                "write a TensorBoard event file into the run folder, with the contents of metrics.jsonl and the options")
      ->group("Run");
  parser.add_flag("--quiet", arguments.quiet, "print only the result")->group("Run");
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
        "--balance cannot be combined with --tensor-parallel, whose workers need equal shares of the data: leave one out");
  if (arguments.out.empty() && (arguments.resume || arguments.checkpoint_every > 0))
    throw core::ConfigError("--resume and --checkpoint-every need a run folder: give --out");
  if (arguments.resume && arguments.overwrite)
    throw core::ConfigError("--resume continues the run that --overwrite would remove: give one of them");
  if (arguments.tensorboard && arguments.out.empty())
    throw core::ConfigError("--tensorboard writes into the run folder: choose one with --out");
  if (arguments.instruments.timeline && arguments.out.empty())
    throw core::ConfigError("--timeline writes into the run folder: choose one with --out");
  comm::make_gradient_sum(strategy.compression);
  strategy.server.queue = arguments.work == "queue";
  // Check every value, whether this run uses it or not.
  for (const auto& entry : strategies::strategy_catalogue()) strategies::make_strategy(entry.name, strategy);
  check_server_arguments(arguments);
}

void require_learning_rate(train::TrainingOptions& options) {
  if (options.epochs == 0 && options.schedule.initial_rate == 0) options.schedule.initial_rate = 1;  // unused
  if (options.schedule.initial_rate == 0)
    throw core::ConfigError("the learning rate must be above 0: give --learning-rate or --lr-per-sample");
}

std::uint64_t samples_to_train(const train::TrainingOptions& options, const train::TrainingData& source) {
  std::uint64_t epochs = 0;
  for (const train::TrainingOptions& phase : train::phases(options)) epochs += static_cast<std::uint64_t>(phase.epochs);
  const std::size_t blocks = source.partition->blocks();
  const std::size_t taken = options.max_blocks > 0 ? std::min(blocks, options.max_blocks) : blocks;
  return epochs * source.partition->samples() * taken / blocks;
}

}  // namespace paragrad::app
