#include "app/training.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "app/catalogue_options.hpp"
#include "app/number_options.hpp"
#include "app/server_arguments.hpp"
#include "app/shared_options.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "nn/zoo/zoo.hpp"
#include "train/pretraining.hpp"

namespace paragrad::app {
namespace {

void add_model_options(CLI::App& parser, train::TrainingOptions& options) {
  const Heading heading(parser, "Task");
  parser.add_option("--data", options.data, "data file (HDF5, see data/README.md)");
  add_model_option(parser, "--model", options.model,
                   core::format("network: layer widths and hidden activation, such as 784-512-256-10:sigmoid or "
                                "440-5x1024-1000:relu, or file:PATH, a text of nodes, or zoo:NAME: {}",
                                core::join(nn::zoo_catalogue().names(), ", ")))
      ->required();
  add_loss_option(parser, options.loss);
  parser.add_option("--context", options.context,
                    "frames of context left and right of each frame, such as 5+5 (default: as in the data file)");
  add_number(parser, "--label-smoothing", options.label_smoothing, core::below_one,
             "share of the target output that all classes divide equally, in training with cross_entropy (0: none)");
  parser.add_option(
      "--chunks", options.chunks,
      "recurrent models: train on whole sequences (whole), or on chunks with frames of context before and after "
      "(21-64+21), which may overlap (21-64+21/32)");
  add_number(parser, "--target-error", options.target_error, {.least = -1, .most = 1},
             "stop after the first epoch with a validation error, from 0 to 1, of at most this (below 0: train all epochs)");
  add_number(parser, "--validations", options.validations, {.least = 1, .most = 1000000},
             "validation runs per epoch of all workers, spread over its blocks; in-flight gradients are applied first");
  add_number(parser, "--ema-decay", options.ema_decay, core::below_one,
             "decay per block of the exponential mean of the model, which is scored and saved in its place (0: none)");
  parser.add_option("--keep-best", options.keep_best, "end with the model that has the lowest validation error");
  add_number(parser, "--epochs", options.epochs, {.least = 0, .most = 1000000},
             "passes over the training set (0: pretrain only, see --pretrain-epochs)");
  add_number(parser, "--seed", options.seed, core::any_seed,
             "random seed of initial weights, partition, order of blocks and samples");
  parser.add_option("--init", options.init, "checkpoint to start from");
}

void add_strategy_options(CLI::App& parser, TrainingArguments& arguments) {
  const Heading heading(parser, "Distribution");
  train::TrainingOptions& options = arguments.options;
  const core::CatalogueInfo strategies = strategies::strategy_catalogue();
  add_choice(parser, strategies, options.strategy, "distributed training algorithm");
  add_number(parser, "--workers-per-node", arguments.workers_per_node, {.least = 0, .most = 1000000},
             "collectives hierarchical and auto: workers per node (0: as detected); the order of additions depends on it");
  add_number(parser, "--blocks", options.blocks, {.least = 1, .most = 100000000}, "M: blocks per epoch");
  add_number(parser, "--sync-period", options.sync_period, {.least = 0, .most = 1'000'000'000'000},
             "samples per worker between two synchronisations, which sets the number of blocks (0: use --blocks; CNTK's "
             "defaults are 40000 for model_averaging, 120000 for bmuf)");
  add_number(parser, "--max-blocks", options.max_blocks, core::any_count,
             "number of blocks to train in each epoch; the rest are skipped (0: all)");
  add_number(parser, "--splits", options.splits, {.least = 0, .most = 100000000}, "N: splits per block (0: one per worker)");
  parser.add_flag("--shuffle", options.shuffle,
                  "take the samples of each block, or of each worker's split, in a new random order in every epoch; "
                  "otherwise the minibatches are the same in all epochs");
  add_number(
      parser, "--tensor-parallel", options.tensor_parallel, {.least = 1, .most = 1000000},
      "tensor parallelism: workers per replica, each holding some outputs of every layer (1: one replica per worker)");
  parser.add_flag(
      "--sync-batch-norm", options.sync_batch_norm,
      "batch normalisation with the statistics of the whole minibatch over all workers, not of each worker's part");
  parser.add_option("--balance", options.balance,
                    "give faster workers more samples, according to their speed measured block by block");
  add_number(parser, "--parallel-start-epoch", options.parallel_start_epoch, {.least = 1, .most = 1000000},
             "first epoch trained by all workers; earlier ones are trained as by a single worker (warm start)");
  add_entry_options(parser, strategies, options.strategy_settings);
  add_number(parser, "--gradient-bits", arguments.gradient_bits, {.least = 1, .most = 32},
             "bits per exchanged gradient element: 1, 2, 4, 8, 16, or 32 (uncompressed); the same as --compression bits:K")
      ->group("Gradient exchange");
}

void add_image_options(CLI::App& parser, backend::Augmentation& augmentation) {
  const Heading heading(parser, "Images");
  add_number(parser, "--augment-pad", augmentation.pad, {.least = 0, .most = 1024},
             "shift training images by up to this many places, differently in every epoch (0: not)");
  parser.add_flag("--augment-flip", augmentation.flip, "exchange left and right of every other training image");
  add_number(parser, "--augment-cutout", augmentation.cutout, {.least = 0, .most = 1024},
             "side of a square of zeros at a place drawn for each training image (0: none)");
}

void add_minibatch_options(CLI::App& parser, train::TrainingOptions& options) {
  const Heading heading(parser, "Minibatch");
  train::MinibatchSearchOptions& search = options.minibatch_search;
  add_number(parser, "--minibatch", options.minibatch, core::any_count,
             "minibatch size in samples, per worker; with sgd and data_parallel over all workers (0: a whole block)");
  add_number(parser, "--micro-batch", options.micro_batch, core::any_count,
             "process each worker's part of a minibatch in micro-batches of at most this many samples, whose gradients are "
             "added up: the same step with less memory for activations (0: all at once)");
  parser.add_option("--auto-minibatch", search.enabled,
                    "periodically try larger minibatches, and keep the largest within --minibatch-error-margin");
  add_number(parser, "--minibatch-tuning-frequency", search.frequency, {.least = 1, .most = 1000000},
             "epochs between two searches for a larger minibatch");
  add_number(parser, "--minibatch-max", search.largest, core::a_minibatch, "largest minibatch to try, in samples");
  add_number(parser, "--minibatch-error-margin", search.margin_percent, core::zero_or_more,
             "percent by which a larger minibatch may increase the loss over that of the smallest size tried");
  add_number(parser, "--minibatch-search-samples", search.samples, core::any_count,
             "samples to train on for each minibatch size tried (0: 500 minibatches)");
}

void add_learning_rate_options(CLI::App& parser, TrainingArguments& arguments) {
  const Heading heading(parser, "Learning rate");
  train::TrainingOptions& options = arguments.options;
  add_number(parser, "--learning-rate", options.schedule.initial_rate, core::zero_or_more, "initial learning rate");
  parser
      .add_option("--learning-rate-per", options.rate_per,
                  "unit of the learning rate: per minibatch of the configured size, or per sample")
      ->check(CLI::IsMember({"minibatch", "sample"}));
  add_number(parser, "--lr-per-sample", arguments.lr_per_sample, core::above_zero,
             "initial learning rate per sample, instead of --learning-rate");
  add_number(parser, "--warm-up", options.schedule.warm_up_epochs, core::zero_or_more,
             "epochs, perhaps a part of one, in which the learning rate grows linearly to the schedule's (0: none)");
  add_number(parser, "--warm-up-from", options.schedule.warm_up_from, core::zero_or_more,
             "learning rate at the beginning of --warm-up");
  const core::CatalogueInfo schedules = optim::schedule_catalogue();
  add_choice(parser, schedules, options.schedule.name, "learning rate schedule over the epochs");
  add_entry_options(parser, schedules, options.schedule.settings);
}

void add_optimiser_options(CLI::App& parser, TrainingArguments& arguments) {
  const Heading heading(parser, "Local optimiser");
  train::TrainingOptions& options = arguments.options;
  const core::CatalogueInfo optimisers = optim::optimiser_catalogue();
  add_choice(parser, optimisers, options.optimiser.name,
             "update rule of the parameters, at each worker or at the parameter servers");
  add_entry_options(parser, optimisers, options.optimiser.settings);
  add_number(parser, "--momentum", options.momentum, core::below_one, "momentum coefficient per minibatch");
  add_number(
      parser, "--momentum-time-constant", options.momentum_time_constant, core::zero_or_more,
      "time constant T of momentum in samples, which replaces --momentum: an update of n samples uses exp(-n/T) (0: off)");
  parser.add_option("--unit-gain-momentum", options.unit_gain,
                    "use the momentum update v = mu v + (1 - mu) g, as CNTK does");
  add_number(parser, "--l2", options.l2, core::zero_or_more,
             "strength of the L2 penalty l2/2 |w|^2 per sample; adamw, lion: strength of the decoupled weight decay");
  parser
      .add_option(
          "--l2-on", options.optimiser.l2_on,
          "what --l2 applies to: all parameters, or weights only, not biases and the scales and shifts of normalisation")
      ->check(CLI::IsMember({"all", "weights"}));
  add_number(parser, "--clip-gradient", options.optimiser.clip_per_sample, core::zero_or_more,
             "gradient clipping threshold per sample: the summed gradient of n samples is limited to n times this (0: off)");
  parser
      .add_option("--clip", options.optimiser.clip,
                  "gradient clipping method: truncate each element, or limit the norm of each matrix")
      ->check(CLI::IsMember({"truncate", "norm"}));
  add_number(parser, "--max-norm", options.optimiser.max_norm, core::zero_or_more,
             "maximum L2 norm of each unit's incoming weights, enforced after every update (0: no maximum)");
}

void add_pretraining_options(CLI::App& parser, train::PretrainingOptions& options) {
  const Heading heading(parser, "Pretraining");
  rbm::RbmOptions& machine = options.machine;
  add_number(parser, "--pretrain-epochs", options.epochs, {.least = 0, .most = 1000000},
             "epochs in which each hidden layer in turn is trained as a restricted Boltzmann machine (0: no pretraining)");
  add_numbers(parser, "--pretrain-learning-rate", options.rates, core::above_zero,
              "learning rate per minibatch in pretraining: one, or one per hidden layer, separated by commas");
  add_number(parser, "--pretrain-momentum", options.momentum, core::below_one,
             "momentum coefficient per minibatch in pretraining");
  add_number(parser, "--pretrain-l2", options.l2, core::zero_or_more,
             "strength of the L2 penalty l2/2 |w|^2 per sample in pretraining");
  add_number(parser, "--pretrain-minibatch", options.minibatch, core::a_minibatch,
             "minibatch size in samples in pretraining; divided among workers as --minibatch is");
  add_number(parser, "--pretrain-weight-deviation", options.weight_deviation, core::zero_or_more,
             "standard deviation of the initial weights in pretraining");
  parser
      .add_option("--pretrain-activations", options.activations,
                  "inputs of the higher machines: states sampled in the layers below, or their probabilities (mean)")
      ->check(CLI::IsMember({"sampled", "mean"}));
  parser
      .add_option(
          "--visible-units", options.visible_units,
          "visible units of the first machine: binomial for features from 0 to 1, gaussian for mean 0 and variance 1")
      ->check(CLI::IsMember({"binomial", "gaussian"}));
  add_number(parser, "--cd-steps", machine.cd_steps, {.least = 1, .most = 100000},
             "Gibbs steps k of contrastive divergence (CD-k)");
  parser.add_option("--persistent-chains", machine.persistent,
                    "continue the Gibbs chains of the previous update (persistent contrastive divergence, PCD)");
  parser.add_option("--sample-reconstructions", machine.sample_visible,
                    "sample reconstructed visible states; false: use their means");
  add_number(parser, "--sparsity-target", machine.sparsity_target, core::a_share,
             "target fraction of samples for which a hidden unit is on");
  add_number(parser, "--sparsity-cost", machine.sparsity_cost, core::zero_or_more,
             "strength with which hidden biases are pulled towards the sparsity target (0: none)");
}

/// A run is repeated from its options, so it must not replace a file that it starts from.
void keep_own_input(const std::string& option, const std::string& input, const std::string& own_file) {
  std::error_code missing;
  if (!input.empty() && std::filesystem::equivalent(input, own_file, missing))
    throw core::ConfigError(
        core::format("{} '{}' would be replaced by the run in the same folder: choose another --out", option, input));
}

}  // namespace

void add_training_options(CLI::App& parser, TrainingArguments& arguments) {
  accept_config_file(parser);
  add_model_options(parser, arguments.options);
  add_strategy_options(parser, arguments);
  add_server_options(parser, arguments);
  add_optimiser_options(parser, arguments);
  add_learning_rate_options(parser, arguments);
  add_image_options(parser, arguments.options.augmentation);
  add_minibatch_options(parser, arguments.options);
  add_pretraining_options(parser, arguments.options.pretraining);
  const Heading heading(parser, "Run");
  add_device_option(parser, arguments.device);
  parser.add_option("--out", arguments.out, "run folder for configuration, manifest, metrics and checkpoint");
  parser.add_flag("--overwrite", arguments.overwrite, "replace an existing run in the --out folder")->configurable(false);
  add_number(parser, "--checkpoint-every", arguments.checkpoint_every, core::any_count,
             "blocks between two checkpoints for --resume in the run folder; each epoch also ends with one (0: none)");
  parser
      .add_flag("--resume", arguments.resume,
                "resume the interrupted run in --out, with bit-identical results; start it if there is none")
      ->configurable(false);
  parser
      .add_flag(
          "--rescale", arguments.rescale,
          "with --resume: go on with another number of workers, which ends in other weights; the learning rate, minibatch "
          "size and block momentum may change, too")
      ->configurable(false);
  parser.add_flag("--tensorboard", arguments.tensorboard,
                  "write a TensorBoard event file into the run folder, with the contents of metrics.jsonl and the options");
  parser.add_flag("--quiet", arguments.quiet, "print only the result");
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
  options.schedule.epochs = options.epochs;
  if (options.schedule.warm_up_from > 0 && options.schedule.warm_up_epochs == 0)
    throw core::ConfigError("--warm-up-from has no effect without --warm-up: give both");
  if (options.balance && options.tensor_parallel > 1)
    throw core::ConfigError(
        "--balance cannot be combined with --tensor-parallel, whose workers need equal shares of the data: leave one out");
  if (arguments.out.empty() && (arguments.resume || arguments.checkpoint_every > 0))
    throw core::ConfigError("--resume and --checkpoint-every need a run folder: give --out");
  if (arguments.resume && arguments.overwrite)
    throw core::ConfigError("--resume continues the run that --overwrite would remove: give one of them");
  if (arguments.rescale && !arguments.resume)
    throw core::ConfigError("--rescale changes the number of workers of the run that --resume continues: give both");
  if (arguments.rescale) train::require_rescalable(options);
  if (arguments.tensorboard && arguments.out.empty())
    throw core::ConfigError("--tensorboard writes into the run folder: choose one with --out");
  if (arguments.instruments.timeline && arguments.out.empty())
    throw core::ConfigError("--timeline writes into the run folder: choose one with --out");
  keep_own_input("--init", options.init, arguments.out + "/checkpoint.h5");
  keep_own_input("--replay", arguments.replay, arguments.out + "/order.txt");
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
