#include "train/input/training_data.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "nn/graph_copy.hpp"
#include "nn/node_text.hpp"
#include "nn/tensor_parallel.hpp"
#include "nn/zoo/zoo.hpp"
#include "speech/tokens.hpp"
#include "train/input/training_partition.hpp"
#include "train/input/variance_check.hpp"
#include "train/pretraining_checks.hpp"

namespace paragrad::train {
namespace {

std::shared_ptr<const nn::Graph> network_of(const TrainingOptions& options) {
  nn::Graph network = nn::make_graph(options.model);
  if (options.augmentation.any()) network = nn::augment_input(network, options.augmentation);
  return std::make_shared<const nn::Graph>(std::move(network));
}

std::shared_ptr<const data::Dataset> open_dataset(const TrainingOptions& options,
                                                  const std::vector<std::string>& classes = {}) {
  std::optional<data::Context> context;
  if (!options.context.empty()) context = data::parse_context(options.context);
  return data::Dataset::open(options.data, context, classes);
}

void check_computable(const TrainingOptions& options, const nn::Graph& network) {
  if (const nn::Node* node = network.not_computable())
    throw core::ConfigError(
        core::format("model '{}' cannot be trained yet, as {} ({}) has no kernels: time it with `device` meta",
                     nn::short_name(options.model), node->name, node->op->name()));
}

void check_micro_batch(const TrainingOptions& options, const nn::Graph& network) {
  const nn::Node* node = network.needs_whole_minibatch();
  if (options.micro_batch > 0 && node != nullptr)
    throw core::ConfigError(core::format("`micro-batch` cuts minibatches, but {} ({}) of model '{}' needs them whole",
                                         node->name, node->op->name(), nn::short_name(options.model)));
}

bool reads_tokens(const TrainingOptions& options) { return !nn::loss_entry(options.loss).is_aligned; }

speech::Tokens tokens_in(const data::DatasetInfo& info) { return {info.class_names, info.classes}; }

/// The number of outputs a model must have, and what they stand for.
struct Outputs {
  std::size_t count;
  std::string what;
};

Outputs wanted_outputs(const TrainingOptions& options, const data::DatasetInfo& info) {
  if (info.vocabulary) return {info.classes, core::format("a vocabulary of {}", info.classes)};
  if (info.widths.targets > 0)
    return {info.widths.targets, core::format("{} target{}", info.widths.targets, info.widths.targets > 1 ? "s" : "")};
  if (!reads_tokens(options)) return {info.classes, core::format("{} classes", info.classes)};
  const std::size_t tokens = tokens_in(info).count();
  return {tokens + 1, core::format("{} tokens, which need {} outputs including the blank", tokens, tokens + 1)};
}

/// "; write zoo:resnet:side=16,classes=3", or which networks take images of any size; empty for other models than those of
/// the zoo.
std::string fitting_zoo_model(const std::string& model, const data::DatasetInfo& info) {
  constexpr std::string_view zoo = "zoo:";
  if (!model.starts_with(zoo) || !info.image || info.classes == 0 || info.image->height != info.image->width) return "";
  const std::string fitting =
      nn::zoo_model_with(model.substr(zoo.size()),
                         {{"side", info.image->height}, {"channels", info.image->channels}, {"classes", info.classes}});
  if (!fitting.empty()) return core::format("; write {}{}", zoo, fitting);
  std::vector<std::string> families;
  for (const core::EntryInfo& entry : nn::zoo_catalogue().entries)
    if (entry.parameter.find("side=") != std::string::npos) families.push_back(core::format("{}{}", zoo, entry.name));
  return core::format("; {} take images of any size", core::join(families, " and "));
}

std::string losses_of_targets() {
  std::vector<std::string> names;
  for (const std::string& name : nn::loss_catalogue().names())
    if (nn::loss_entry(name).takes_targets) names.push_back(name);
  return core::format("{}", core::join(names, " or "));
}

/// Whether both network and data are of texts, or neither is.
void check_text(const TrainingOptions& options, const TrainingData& source) {
  const std::optional<nn::TokenInput>& tokens = source.network->tokens();
  const std::string model = nn::short_name(options.model);
  if (tokens && !source.info.vocabulary && !source.info.path.empty())
    throw core::ConfigError(
        core::format("model '{}' reads tokens, and '{}' has features: make its data with 'paragrad data import-text'", model,
                     source.info.path));
  if (!tokens && source.info.vocabulary)
    throw core::ConfigError(
        core::format("'{}' holds a text, which model '{}' cannot read: give one like gpt:layers=4,heads=4,width=128",
                     source.info.path, model));
  if (!tokens || !source.info.vocabulary) return;
  if (tokens->vocabulary != source.info.classes)
    throw core::ConfigError(
        core::format("model '{}' has a vocabulary of {}, but '{}' one of {}: give the model as many tokens", model,
                     tokens->vocabulary, source.info.path, source.info.classes));
  if (!nn::loss_entry(options.loss).is_aligned)
    throw core::ConfigError(core::format(
        "loss '{}' needs no alignment of labels to rows, which a text has: choose cross_entropy", options.loss));
}

void check_fit(const TrainingOptions& options, const TrainingData& source) {
  if (source.info.widths.targets > 0 && !nn::loss_entry(options.loss).takes_targets)
    throw core::ConfigError(
        core::format("'{}' has real-valued targets, for which the loss is {}, not {} (to have classes, import integers)",
                     source.info.path, losses_of_targets(), options.loss));
  if (source.info.widths.weights > 0 && !nn::loss_entry(options.loss).takes_weights)
    throw core::ConfigError(
        core::format("'{}' has weights of samples, which the loss {} does not take: import the data without them",
                     source.info.path, options.loss));
  if (reads_tokens(options) && (!source.network->reads_sequences() || data::parse_chunking(options.chunks).frames > 0))
    throw core::ConfigError(core::format(
        "loss '{}' needs whole sequences: give a model with recurrent layers like blstm128, and leave out `chunks`",
        options.loss));
  check_text(options, source);
  const std::vector<std::size_t>& extents = source.network->values().front().type.shape.extents;
  if (const auto& image = source.info.image;
      image && extents.size() == 3 && data::ImageShape{extents[0], extents[1], extents[2]} != *image)
    throw core::ConfigError(core::format("model '{}' takes images of {}, but those of '{}' are {}{}",
                                         nn::short_name(options.model), core::join(extents, "x"), source.info.path,
                                         image->text(), fitting_zoo_model(options.model, source.info)));
  const std::size_t inputs = source.network->inputs(), outputs = source.network->outputs();
  const Outputs wanted = wanted_outputs(options, source.info);
  if (inputs != source.info.dim || outputs != wanted.count)
    throw core::ConfigError(core::format("model '{}' has {} inputs and {} outputs, but '{}' has {} features and {}{}",
                                         nn::short_name(options.model), inputs, outputs, source.info.path, source.info.dim,
                                         wanted.what, fitting_zoo_model(options.model, source.info)));
}

std::array<double, 3> mean_weights(const data::Dataset& dataset) {
  std::array<double, 3> means{1, 1, 1};
  for (std::size_t i = 0; i < means.size(); ++i) {
    const std::span<const float> weights = dataset.columns(static_cast<data::Subset>(i)).weights;
    if (!weights.empty())
      means[i] = std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(weights.size());
  }
  return means;
}

/// In two passes over the targets, row by row; a row counts as often as its weight says.
double variance_of_targets(const data::Dataset& dataset) {
  const std::size_t count = dataset.info().widths.targets, samples = dataset.info().samples[0];
  if (count == 0) return 0;
  const data::ColumnViews columns = dataset.columns(data::Subset::train);
  const auto weight = [&](std::size_t row) { return columns.weights.empty() ? 1.0 : columns.weights[row]; };
  std::vector<double> means(count, 0);
  double weights = 0;
  for (std::size_t row = 0; row < samples; ++row) {
    const auto targets = columns.targets.subspan(row * count, count);
    for (std::size_t k = 0; k < count; ++k) means[k] += weight(row) * targets[k];
    weights += weight(row);
  }
  for (double& mean : means) mean /= weights;
  double squares = 0;
  for (std::size_t row = 0; row < samples; ++row) {
    const auto targets = columns.targets.subspan(row * count, count);
    for (std::size_t k = 0; k < count; ++k) squares += weight(row) * (targets[k] - means[k]) * (targets[k] - means[k]);
  }
  return squares / weights;
}

void check_targets(const TrainingData& source) {
  if (source.mean_weights[0] == 0)
    throw core::ConfigError(
        core::format("all weights of the training set of '{}' are 0: there is nothing to learn", source.info.path));
  if (source.info.widths.targets > 0 && source.target_variance == 0)
    throw core::ConfigError(core::format(
        "the targets of the training set of '{}' are all the same: there is nothing to learn", source.info.path));
}

/// Checks before training that the network can be split for tensor parallelism.
void check_split(const TrainingOptions& options, const std::shared_ptr<const nn::Graph>& network) {
  if (options.tensor_parallel > 1) nn::TensorParallel(network, static_cast<std::size_t>(options.tensor_parallel), 0);
}

/// Checks before training that there are statistics to synchronise, and minibatches to take them over.
void check_statistics(const TrainingOptions& options, const nn::Graph& network) {
  if (!options.sync_batch_norm) return;
  const auto has_statistics = [](const nn::Node& node) { return node.op->synchronised(1, 0) != nullptr; };
  if (std::ranges::none_of(network.nodes(), has_statistics))
    throw core::ConfigError(core::format("model '{}' has no batch normalisation to synchronise: leave out `sync-batch-norm`",
                                         nn::short_name(options.model)));
  if (!strategies::strategy_entry(options.strategy).exchanges_always)
    throw core::ConfigError(
        core::format("workers of '{}' do not share all minibatches, whose statistics `sync-batch-norm` takes: "
                     "leave it out, or choose data_parallel",
                     options.strategy));
}

data::DatasetInfo imaginary_info(const nn::Graph& network, const std::array<std::size_t, 3>& samples) {
  if (samples[0] == 0)
    throw core::ConfigError("a timing run needs a data set size: give `train-samples`, or `data` with a file");
  data::DatasetInfo info;
  info.name = "imaginary";
  info.dim = network.inputs();
  info.classes = network.outputs();
  info.samples = samples;
  return info;
}

void set_windows(TrainingData& source, std::size_t subset, const data::Windows& windows) {
  source.windows[subset] = windows;
  source.sequences[subset] = std::make_shared<const data::Sequences>(windows);
}

/// Of a text, the windows that score each of its tokens.
void cut_windows(TrainingData& source) {
  for (std::size_t i = 0; i < source.windows.size(); ++i)
    set_windows(source, i, data::Windows::once(source.info.samples[i], source.network->tokens()->context));
}

/// And those that a model is trained on.
void cut_training_windows(const TrainingOptions& options, TrainingData& source) {
  if (!source.network->tokens()) return;
  const std::string what = source.info.path.empty() ? "the text" : core::format("'{}' (train)", source.info.path);
  const auto order = options.windows == "random" ? data::Windows::Order::random : data::Windows::Order::disjoint;
  set_windows(source, 0,
              data::Windows::training(source.info.samples[0], source.network->tokens()->context, order, options.seed, what));
}

/// Sets the sequences that a recurrent model trains on, and their target tokens if the loss needs them; does nothing for
/// other models.
void cut_sequences(const TrainingOptions& options, TrainingData& source) {
  if (source.network->tokens()) return cut_windows(source);
  if (!source.network->reads_sequences()) return;
  const data::Chunking chunking = data::parse_chunking(options.chunks);
  for (std::size_t i = 0; i < source.sequences.size(); ++i)
    source.sequences[i] =
        source.dataset ? std::make_shared<const data::Sequences>(*source.dataset, static_cast<data::Subset>(i), chunking)
                       : std::make_shared<const data::Sequences>(source.info.samples[i], chunking);
  if (!reads_tokens(options)) return;
  const speech::Tokens tokens = tokens_in(source.info);
  const auto read = [&](std::span<const std::int32_t> labels) { return tokens.in(labels); };
  for (std::size_t i = 0; i < source.tokens.size(); ++i)
    source.tokens[i] = std::make_shared<const data::TokenSequences>(*source.dataset, static_cast<data::Subset>(i), read);
}

}  // namespace

std::size_t TrainingData::most_rows_per_sample() const {
  std::size_t most = 1;
  for (const auto& one : sequences)
    if (one != nullptr) most = std::max(most, one->longest());
  return most;
}

std::optional<data::Sequence> TrainingData::all_alike() const {
  if (!windows[0]) return std::nullopt;
  for (const std::optional<data::Windows>& one : windows)
    if (one && one->count() > 0 && one->length() != windows[0]->length()) return std::nullopt;
  return sequences[0]->at(0);
}

double TrainingData::scored_per_sample() const {
  if (tokens[0] != nullptr) return tokens[0]->mean();
  return has_sequences() ? sequences[0]->mean_scored() : 1;
}

void check_size(const TrainingData& source, std::span<const float> parameters) {
  if (parameters.size() == source.network->model_size()) return;
  throw core::ConfigError(core::format("the checkpoint has {} parameters, but its model has {}", parameters.size(),
                                       source.network->model_size()));
}

namespace {

/// checkpoint: null if there is none; name: what messages call it.
TrainingData open_data(const TrainingOptions& options, const Checkpoint* checkpoint = nullptr,
                       const std::string& name = "") {
  TrainingData source;
  source.network = network_of(options);
  check_computable(options, *source.network);
  source.dataset = open_dataset(options, checkpoint == nullptr ? std::vector<std::string>{} : checkpoint->data.class_names);
  source.info = source.dataset->info();
  if (checkpoint != nullptr) require_same_text(checkpoint->data, name, source.info);
  check_fit(options, source);
  if (checkpoint != nullptr) require_same_kind(checkpoint->data, name, source.info);
  source.mean_weights = mean_weights(*source.dataset);
  source.target_variance = variance_of_targets(*source.dataset);
  cut_sequences(options, source);
  source.prefetcher = std::make_shared<data::Prefetcher>();
  return source;
}

}  // namespace

TrainingData open_evaluation_data(const TrainingOptions& options) { return open_data(options); }

TrainingData open_evaluation_data(const TrainingOptions& options, const Checkpoint& checkpoint, const std::string& path) {
  return open_data(options, &checkpoint, core::format("checkpoint '{}'", path));
}

TrainingData open_training_data(const TrainingOptions& options, int workers) {
  replicas(options, workers);  // throws, like the next two, before anything is read
  core::require_valid(options);
  make_strategy(options);
  TrainingData source = open_evaluation_data(options);
  cut_training_windows(options, source);
  check_targets(source);
  check_split(options, source.network);
  check_statistics(options, *source.network);
  check_micro_batch(options, *source.network);
  check_pretraining(options, *source.network);
  check_pretraining_data(options, *source.dataset);
  divide_among_workers(source, options, workers);
  check_variances(options, source, replicas(options, workers));
  return source;
}

TrainingData imagine_training_data(const TrainingOptions& options, int workers,
                                   const std::array<std::size_t, 3>& imaginary) {
  const int own = replicas(options, workers);
  core::require_valid(options);
  make_strategy(options);
  if (reads_tokens(options))
    throw core::ConfigError(core::format(
        "loss '{}' needs whole sequences, whose lengths a timing run does not have: time cross_entropy on chunks",
        options.loss));
  TrainingData source;
  source.network = network_of(options);
  check_split(options, source.network);
  check_statistics(options, *source.network);
  check_micro_batch(options, *source.network);
  check_pretraining(options, *source.network);
  const auto dataset = options.data.empty() ? nullptr : open_dataset(options);
  source.info = dataset ? dataset->info() : imaginary_info(*source.network, imaginary);
  check_fit(options, source);
  cut_sequences(options, source);
  cut_training_windows(options, source);
  divide_imaginary(source, dataset.get(), options, own);
  check_variances(options, source, own);
  return source;
}

}  // namespace paragrad::train
