#include "train/training_options.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "data/dataset.hpp"
#include "data/partitioning.hpp"
#include "nn/model.hpp"
#include "nn/node_text.hpp"
#include "nn/zoo/zoo.hpp"
#include "optim/local_optimiser.hpp"
#include "train/observers/loop_observer.hpp"
#include "train/step_sizes.hpp"

namespace paragrad::train {
namespace {

constexpr core::Limits<int> epochs_range{.least = 0, .most = 1000000}, from_one{.least = 1, .most = 1000000};
constexpr core::Limits<std::size_t> parts_range{.least = 0, .most = 100000000};

bool reads_text(const std::string& model) { return nn::make_graph(model).tokens().has_value(); }

std::string not_with_strategy(const TrainingOptions& options, const std::string& why) {
  return core::format("cannot be used with '{}', {}: leave it out", options.strategy, why);
}

/// When a training ends, and with which model.
void describe_end(core::OptionList& list, TrainingOptions& options) {
  const auto used_by_network = [&](const core::DescribedOption& option) {
    return option.when(options.epochs > 0, network_only);
  };
  for (const LoopObserverEntry& observer : loop_observers())
    if (observer.describe != nullptr) observer.describe(list, options);
  list.number("validations", options.validations, from_one,
              "validation runs per epoch of all workers, spread over its blocks; in-flight gradients are applied first")
      .off("1")
      .unless(has_servers(options), not_with_strategy(options, "whose workers synchronise only at the end of an epoch"));
  used_by_network(list.number("ema-decay", options.ema_decay, core::below_one,
                              "decay per block of the exponential mean of the model, which is scored and saved in its place "
                              "(0: none)"))
      .off("0")
      .unless(has_servers(options), not_with_strategy(options, "whose workers agree only at the end of an epoch"))
      .unless(strategies::strategy_entry(options.strategy).replicas_differ,
              not_with_strategy(options, "whose workers have different models at the end of a block"));
  used_by_network(list.flag("keep-best", options.keep_best, "end with the model that has the lowest validation error")
                      .mark(core::OptionMark::unpredicted))
      .when(options.computes, not_timed);
  list.number("epochs", options.epochs, epochs_range,
              "passes over the training set (0: pretrain only, see `pretrain-epochs`)")
      .mark(core::OptionMark::common, core::OptionMark::tabled)
      .unless(options.epochs == 0 && options.pretraining.epochs == 0,
              "0 trains nothing: give `epochs` 1 or more, or `pretrain-epochs`");
}

void describe_task(core::OptionList& list, TrainingOptions& options) {
  list.group("Task");
  options.describe_samples(list);
  list.described("data").mark(core::OptionMark::common);
  list.text("model", options.model,
            core::format("network: layer widths and hidden activation, such as 784-512-256-10:sigmoid or "
                         "440-5x1024-1000:relu, or file:PATH, a text of nodes, or zoo:NAME: {}",
                         core::join(nn::zoo_catalogue().names(), ", ")))
      .mark(core::OptionMark::common)
      .required()
      .expand(nn::read_model);
  list.choice(
          "windows", options.windows, {"disjoint", "random"},
          "models of texts: windows of the text that lie side by side, from another place on in every epoch, or that begin "
          "at random")
      .when(options.model.empty() || reads_text(options.model),
            core::format("applies to models of texts only, and '{}' is none", nn::short_name(options.model)));
  options.describe_loss(list);
  {
    const auto condition = list.only_when(options.epochs > 0, network_only);
    list.entries(nn::loss_catalogue(), options.loss, options.loss_settings);
  }
  describe_end(list, options);
  list.number("seed", options.seed, core::any_seed, "random seed of initial weights, partition, order of blocks and samples")
      .mark(core::OptionMark::unpredicted);
  list.text("init", options.init, "checkpoint to start from")
      .path()
      .mark(core::OptionMark::unpredicted)
      .when(options.computes, not_timed)
      .unless(options.pretraining.epochs > 0, "and `pretrain-epochs` both provide the initial model: give only one of them");
}

void describe_distribution(core::OptionList& list, TrainingOptions& options) {
  const core::CatalogueInfo strategies = strategies::strategy_catalogue();
  list.group("Distribution");
  list.entry("strategy", options.strategy, strategies::strategy_catalogue, "distributed training algorithm")
      .mark(core::OptionMark::common, core::OptionMark::tabled);
  list.number("blocks", options.blocks, {.least = 1, .most = 100000000}, "M: blocks per epoch")
      .mark(core::OptionMark::common, core::OptionMark::tabled)
      .when(options.sync_period == 0, "conflicts with `sync-period`, which sets the number of blocks: give one of them");
  list.number("sync-period", options.sync_period, {.least = 0, .most = 1'000'000'000'000},
              "samples per worker between two synchronisations, which sets the number of blocks (0: use `blocks`; CNTK's "
              "defaults are 40000 for model_averaging, 120000 for bmuf)");
  list.number("max-blocks", options.max_blocks, core::any_count,
              "number of blocks to train in each epoch; the rest are skipped (0: all)");
  list.number("splits", options.splits, parts_range, "N: splits per block (0: one per worker)")
      .mark(core::OptionMark::tabled);
  list.entry("partition", options.partition, data::partitioner_catalogue,
             "how the training set is divided among workers, which may differ in their data; partitions that `paragrad data "
             "partition` has stored are used, others are made when training starts")
      .mark(core::OptionMark::tabled)
      .expand([](const std::string& kind) { return data::settled_kind(kind); })
      .off(std::string(data::random_kind))
      .unless(options.partition != data::random_kind && share_of(options) != strategies::Share::block,
              not_with_strategy(options, "whose workers do not have data of their own"))
      .unless(options.partition != data::random_kind && options.balance,
              "and `balance`, which gives samples to other workers, contradict each other: leave one out");
  list.flag("shuffle", options.shuffle,
            "take the samples of each block, or of each worker's split, in a new random order in every epoch; otherwise the "
            "minibatches are the same in all epochs")
      .when(options.computes, not_timed);
  list.number(
          "tensor-parallel", options.tensor_parallel, from_one,
          "tensor parallelism: workers per replica, each holding some outputs of every layer (1: one replica per worker)")
      .off("1")
      .unless(options.pretraining.epochs > 0,
              "does not work in pretraining: pretrain without it (and with `epochs` 0), then give the checkpoint to `init`")
      .unless(has_servers(options), not_with_strategy(options,
                                                      "whose workers proceed independently, as those of one replica "
                                                      "cannot"));
  list.flag("sync-batch-norm", options.sync_batch_norm,
            "batch normalisation with the statistics of the whole minibatch over all workers, not of each worker's part")
      .unless(options.tensor_parallel > 1, "cannot be combined with `tensor-parallel`: leave one out")
      .unless(options.parallel_start_epoch > 1, "cannot be combined with `parallel-start-epoch`: leave one out");
  list.flag("balance", options.balance, "give faster workers more samples, according to their speed measured block by block")
      .unless(options.tensor_parallel > 1,
              "cannot be combined with `tensor-parallel`, whose workers need equal shares of "
              "the data: leave one out")
      .unless(has_servers(options), not_with_strategy(options, "whose workers take work as they become free"));
  list.number("parallel-start-epoch", options.parallel_start_epoch, from_one,
              "first epoch trained by all workers; earlier ones are trained as by a single worker (warm start)")
      .off("1")
      .when(options.epochs > 0, network_only)
      .unless(has_servers(options) && options.epochs > 0 && options.parallel_start_epoch > options.epochs,
              "beyond the last epoch " + not_with_strategy(options, "whose servers would have nothing to do"));
  list.entries(strategies, options.strategy, options.strategy_settings);
}

void describe_optimiser(core::OptionList& list, TrainingOptions& options) {
  const core::CatalogueInfo optimisers = optim::optimiser_catalogue();
  list.group("Local optimiser");
  list.entry("optimiser", options.optimiser.name, optim::optimiser_catalogue,
             "update rule of the parameters, at each worker or at the parameter servers")
      .mark(core::OptionMark::common);
  list.entries(optimisers, options.optimiser.name, options.optimiser.settings);
  const auto condition = list.only_when(options.epochs > 0, network_only);
  list.number("momentum", options.momentum, core::below_one, "momentum coefficient per minibatch")
      .off("0")
      .when(options.momentum_time_constant == 0, "is replaced by `momentum-time-constant`: give one of them");
  list.number("momentum-time-constant", options.momentum_time_constant, core::zero_or_more,
              "time constant T of momentum in samples, which replaces `momentum`: an update of n samples uses exp(-n/T) (0: "
              "off)")
      .off("0");
  list.flag("unit-gain-momentum", options.unit_gain, "use the momentum update v = mu v + (1 - mu) g, as CNTK does");
  list.number("l2", options.l2, core::zero_or_more,
              "strength of the L2 penalty l2/2 |w|^2 per sample; adamw, lion: strength of the decoupled weight decay");
  list.choice("l2-on", options.optimiser.l2_on, {"all", "weights"},
              "what `l2` applies to: all parameters, or weights only, not biases and the scales and shifts of normalisation")
      .when(options.l2 > 0, "has no effect without `l2`: give both", "l2");
  list.number(
      "clip-gradient", options.optimiser.clip_per_sample, core::zero_or_more,
      "gradient clipping threshold per sample: the summed gradient of n samples is limited to n times this (0: off)");
  list.choice("clip", options.optimiser.clip, {"truncate", "norm", "global"},
              "gradient clipping method: truncate each element, limit the norm of each matrix (norm), or of all parameters "
              "together (global): of the sum of the workers' gradients with data_parallel, otherwise of each worker's own")
      .when(options.optimiser.clip_per_sample > 0, "has no effect without `clip-gradient`: give both", "clip-gradient");
  list.number("max-norm", options.optimiser.max_norm, core::zero_or_more,
              "maximum L2 norm of each unit's incoming weights, enforced after every update (0: no maximum)");
}

void describe_rate(core::OptionList& list, TrainingOptions& options) {
  const core::CatalogueInfo schedules = optim::schedule_catalogue();
  optim::ScheduleOptions& schedule = options.schedule;
  const bool per_sample = options.rate_per_sample > 0;
  list.group("Learning rate");
  {
    const auto condition = list.only_when(options.epochs > 0, network_only);
    list.number("learning-rate", schedule.initial_rate, core::above_zero,
                core::format("initial learning rate (default, per minibatch: {})", optim::customary_rates()))
        .mark(core::OptionMark::common, core::OptionMark::rescalable)
        .without_default()
        .when(!per_sample, "cannot be combined with `lr-per-sample`: give one of them");
    list.choice("learning-rate-per", options.rate_per, {"minibatch", "sample"},
                "unit of the learning rate: per minibatch of the configured size, or per sample")
        .off("sample")
        .when(!per_sample, "is implied by `lr-per-sample`: leave it out");
    list.number("lr-per-sample", options.rate_per_sample, core::above_zero,
                "initial learning rate per sample, instead of `learning-rate`")
        .mark(core::OptionMark::rescalable)
        .without_default();
  }
  list.number("warm-up", schedule.warm_up_epochs, core::zero_or_more,
              "epochs, perhaps a part of one, in which the learning rate grows linearly to the schedule's (0: none)");
  list.number(
          "warm-up-minibatches", schedule.warm_up_minibatches, core::any_count,
          "length of the warm-up in minibatches of a worker, converted to epochs by how many the first epoch has (0: none)")
      .unless(schedule.warm_up_minibatches > 0 && schedule.warm_up_epochs > 0,
              "says the same as `warm-up`: give one of them");
  list.number("warm-up-from", schedule.warm_up_from, core::zero_or_more, "learning rate at the beginning of the warm-up")
      .off("0")
      .unless(schedule.warm_up_epochs == 0 && schedule.warm_up_minibatches == 0,
              "has no effect without `warm-up` or `warm-up-minibatches`: give one of them");
  const auto condition = list.only_when(options.epochs > 0, network_only);
  list.entry("schedule", schedule.name, optim::schedule_catalogue, "learning rate schedule over the epochs");
  list.entries(schedules, schedule.name, schedule.settings);
}

void describe_minibatch(core::OptionList& list, TrainingOptions& options) {
  list.group("Minibatch");
  list.number("minibatch", options.minibatch, core::any_count,
              "minibatch size in samples, per worker; with sgd and data_parallel over all workers (0: a whole block)")
      .mark(core::OptionMark::common, core::OptionMark::rescalable);
  list.number("micro-batch", options.micro_batch, core::any_count,
              "process each worker's part of a minibatch in micro-batches of at most this many samples, whose gradients are "
              "added up: the same step with less memory for activations (0: all at once)");
  const auto condition = list.only_when(options.epochs > 0, network_only);
  list.flag("auto-minibatch", options.minibatch_search.enabled,
            "periodically try larger minibatches, and keep the largest within `minibatch-error-margin`")
      .unless(has_servers(options), not_with_strategy(options, "whose servers cannot undo a trial"));
  options.minibatch_search.describe(list);
}

}  // namespace

void PretrainingOptions::describe(core::OptionList& list, const std::string& optimiser) {
  list.group("Pretraining");
  list.number("pretrain-epochs", epochs, epochs_range,
              "epochs in which each hidden layer in turn is trained as a restricted Boltzmann machine (0: no pretraining)");
  const auto condition = list.only_when(epochs > 0, "needs `pretrain-epochs`", "pretrain-epochs");
  list.numbers("pretrain-learning-rate", rates, core::above_zero,
               "learning rate per minibatch in pretraining: one, or one per hidden layer, separated by commas");
  list.number("pretrain-momentum", momentum, core::below_one, "momentum coefficient per minibatch in pretraining")
      .off("0")
      .when(optim::heeds_momentum(optimiser), core::format("has no effect: the optimiser {} has no momentum", optimiser));
  list.number("pretrain-l2", l2, core::zero_or_more, "strength of the L2 penalty l2/2 |w|^2 per sample in pretraining");
  list.number("pretrain-minibatch", minibatch, core::a_minibatch,
              "minibatch size in samples in pretraining; divided among workers as `minibatch` is");
  list.number("pretrain-weight-deviation", weight_deviation, core::zero_or_more,
              "standard deviation of the initial weights in pretraining");
  list.choice("pretrain-activations", activations, {"sampled", "mean"},
              "inputs of the higher machines: states sampled in the layers below, or their probabilities (mean)");
  list.choice("visible-units", visible_units, {"binomial", "gaussian"},
              "visible units of the first machine: binomial for features from 0 to 1, gaussian for mean 0 and variance 1");
  machine.describe(list);
}

void TrainingOptions::describe_samples(core::OptionList& list) {
  list.text("data", data, "data file (HDF5, see data/README.md)").path().mark(core::OptionMark::unpredicted);
  list.text("context", context, "frames of context left and right of each frame, such as 5+5 (default: as in the data file)")
      .when(!data.empty(), "applies to the frames of a data file: give `data` too, or leave it out");
  list.text("chunks", chunks,
            "recurrent models: take whole sequences (whole), or chunks with frames of context before and after (21-64+21), "
            "which may overlap (21-64+21/32)")
      .when(model.empty() || (nn::make_graph(model).reads_sequences() && !reads_text(model)),
            core::format("applies to recurrent models only, and '{}' is not recurrent", nn::short_name(model)));
}

core::DescribedOption TrainingOptions::describe_loss(core::OptionList& list) {
  return list.entry("loss", loss, nn::loss_catalogue,
                    "loss function; squared_error also takes real-valued targets; ctc (recurrent models only) needs no "
                    "alignment of labels to frames");
}

void TrainingOptions::describe(core::OptionList& list) {
  describe_task(list, *this);
  describe_distribution(list, *this);
  describe_optimiser(list, *this);
  describe_rate(list, *this);
  augmentation.describe(list);
  describe_minibatch(list, *this);
  pretraining.describe(list, optimiser.name);
}

void settle_model(TrainingOptions& options) {
  std::string_view name = options.model;
  if (name.starts_with("zoo:")) name.remove_prefix(4);
  const bool is_gpt = name == "gpt" || name.starts_with("gpt:");
  if (!is_gpt || options.data.empty() || name.find("vocabulary=") != name.npos) return;
  const auto dataset = data::Dataset::open(options.data);
  if (dataset->info().vocabulary == nullptr) return;  // refused later
  options.model = core::format("zoo:{}", nn::zoo_model_with(name, {{"vocabulary", dataset->info().classes}}));
}

void settle_rate(TrainingOptions& options) {
  options.schedule.epochs = options.epochs;
  if (options.rate_per_sample == 0) return;
  options.schedule.initial_rate = options.rate_per_sample;
  options.rate_per = "sample";
}

int replicas(const TrainingOptions& options, int workers) {
  if (options.tensor_parallel < 1 || workers % options.tensor_parallel != 0)
    throw core::ConfigError(core::format("`tensor-parallel` {}: the worker count must be a multiple of it, but is {}",
                                         options.tensor_parallel, workers));
  return workers / options.tensor_parallel;
}

std::unique_ptr<strategies::Strategy> make_strategy(const TrainingOptions& options) {
  strategies::StrategyContext context{.seed = options.seed, .server = options.servers};
  context.server.rule = options.optimiser;
  if (has_servers(options)) context.server.momentum = momentum_unit(options);
  return strategies::make_strategy(options.strategy, options.strategy_settings, context);
}

strategies::Share share_of(const TrainingOptions& options) {
  const strategies::StrategyEntry& entry = strategies::strategy_entry(options.strategy);
  if (!entry.has_servers) return entry.share;
  const auto servers = core::read_options<strategies::ServerOptions>(options.strategy_settings);
  return servers.queue ? strategies::Share::epoch : strategies::Share::block;
}

void serve_with(const TrainingOptions& options, comm::Worker& all_ranks, int workers) {
  dynamic_cast<strategies::ServedStrategy&>(*make_strategy(options)).serve(all_ranks, workers);
}

}  // namespace paragrad::train
