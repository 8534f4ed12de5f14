#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "app/scoring.hpp"
#include "cli/option_use.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "core/printable.hpp"
#include "core/units.hpp"
#include "train/ensemble.hpp"
#include "train/posteriors.hpp"
#include "train/state/checkpoint.hpp"
#include "train/train.hpp"

namespace paragrad::app {
namespace {

struct EvaluateArguments : CheckpointArguments {
  EvaluateArguments() { options.minibatch = 256; }

  std::vector<std::string> checkpoints;
  std::string subset = "test";

  void describe(core::OptionList& list) {
    list.arguments("checkpoint", checkpoints,
                   "checkpoint.h5 of a run; with several, the mean of their posteriors is scored as well")
        .path()
        .required();
    CheckpointArguments::describe(list);
    describe_subset(list, subset);
    options.describe_loss(list)
        .without_default("what scores the checkpoint's training; cross_entropy for several")
        .when(checkpoints.size() < 2 || options.loss == "cross_entropy",
              "must be cross_entropy for several checkpoints, whose posteriors are averaged");
  }
};

/// Scores checkpoints, the samples divided among the workers; several also as an ensemble.
class Evaluation : public worlds::Job {
 public:
  Evaluation(EvaluateArguments& arguments, const CLI::App& parser) : arguments_(arguments), parser_(parser) {}

  void prepare(const worlds::Process&) override {
    const bool ensemble = arguments_.checkpoints.size() > 1;
    for (const std::string& path : arguments_.checkpoints) {
      Network network{.path = path, .checkpoint = train::read_checkpoint(path)};
      const cli::OptionUse use = use_with(network.checkpoint.model, parser_, arguments_);
      network.options = arguments_.options;
      if (!ensemble && !use.given("loss")) network.options.loss = network.checkpoint.loss;
      networks_.push_back(std::move(network));
    }
    for (const Network& network : networks_) require_same_classes(networks_.front(), network);
    for (Network& network : networks_) {
      network.source = train::open_evaluation_data(network.options, network.checkpoint, network.path);
      if (network.source->samples(parse_subset(arguments_.subset)) == 0)
        throw core::ConfigError(core::format("'{}' has no samples in the subset '{}': choose another",
                                             network.source->info.path, arguments_.subset));
    }
  }
  std::size_t row_bytes() const override { return networks_.front().source->info.bytes_to_read(); }
  worlds::RankFacts facts() const override {
    worlds::RankFacts facts;
    for (std::size_t i = 0; i < networks_.size(); ++i)
      for (const auto& [name, value] : worlds::facts_of(networks_[i].source->info, networks_[i].checkpoint))
        facts[networks_.size() > 1 ? core::format("{} ({} of {})", name, i + 1, networks_.size()) : name] = value;
    return facts;
  }

  void work(comm::Worker& worker, const worlds::AddedTime& added) override {
    const data::Subset subset = parse_subset(arguments_.subset);
    for (Network& network : networks_) {
      const train::Score score =
          train::evaluate(worker, network.options, network.checkpoint.parameters, {*network.source, added.reading}, subset);
      if (worker.rank() == 0) network.score = score;
    }
    if (networks_.size() == 1) return;
    train::Ensemble ensemble;
    for (const Network& network : networks_) {
      const std::vector<float> posteriors =
          train::log_posteriors(worker, {*network.source, added.reading}, network.checkpoint.parameters, subset);
      if (worker.rank() == 0) ensemble.add(posteriors);
    }
    if (worker.rank() == 0) ensemble_ = ensemble.score(*networks_.front().source->dataset, subset);
  }

  void finish(const core::Json& world) override {
    for (const Network& network : networks_) {
      if (networks_.size() > 1) fmt::print("{}: ", core::printable(network.path));
      fmt::print("{} of {} after epoch {}: error {:.2f} %{}, loss {:.4f}{}\n", arguments_.subset,
                 core::printable(network.source->info.name), network.checkpoint.epoch, 100 * network.score.error,
                 network.source->info.widths.targets > 0 ? " of the targets' variance" : "", network.score.loss,
                 of_text(network));
    }
    if (networks_.size() > 1)
      fmt::print("mean of the posteriors of {} networks: error {:.2f} %, loss {:.4f}\n", networks_.size(),
                 100 * ensemble_.error, ensemble_.loss);
    worlds::print_simulated_time(world);
  }

 private:
  struct Network {
    std::string path;
    train::Checkpoint checkpoint;
    train::TrainingOptions options{};
    std::optional<train::TrainingData> source{};
    train::Score score{};
  };

  /// Of a text, ", perplexity 6.69, 1.8 bits per byte". The first token of a set has no score.
  std::string of_text(const Network& network) const {
    if (!network.source->info.vocabulary) return "";
    const data::Subset subset = parse_subset(arguments_.subset);
    const auto bytes = static_cast<double>(network.source->info.text_bytes[static_cast<std::size_t>(subset)]);
    const auto scored = static_cast<double>(network.source->scored(subset, network.source->samples(subset)));
    return core::format(", perplexity {:.4g}, {:.4g} bits per byte", std::exp(network.score.loss),
                        network.score.loss * scored / bytes / std::numbers::ln2);
  }

  /// Throws ConfigError for an ensemble of networks that do not number the same classes alike.
  static void require_same_classes(const Network& one, const Network& other) {
    const auto &first = one.checkpoint.data.class_names, &second = other.checkpoint.data.class_names;
    if (!first.empty() && !second.empty() && first != second)
      throw core::ConfigError(core::format(
          "the networks of '{}' and '{}' were trained on different classes ({}; {}): their posteriors have no mean",
          one.path, other.path, train::list_of_names(first), train::list_of_names(second)));
  }

  EvaluateArguments& arguments_;
  const CLI::App& parser_;
  std::vector<Network> networks_;
  train::Score ensemble_;
};

}  // namespace

cli::Command evaluate_command() {
  return job_command<Evaluation, EvaluateArguments>(
      {.name = "evaluate",
       .description =
           "Score one checkpoint, or several, each alone and all together as an ensemble, on one subset of a data file.\n"
           "The samples are divided among the ranks under mpiexec, or among emulated workers on a platform.",
       .examples =
           "paragrad evaluate runs/one/checkpoint.h5 --data frames.h5\n"
           "paragrad evaluate runs/one/checkpoint.h5 --data frames.h5 --subset valid\n"
           "paragrad evaluate runs/one/checkpoint.h5 runs/faster/checkpoint.h5 --data frames.h5\n"
           "mpiexec -n 2 paragrad evaluate runs/one/checkpoint.h5 --data frames.h5\n"
           "paragrad evaluate runs/one/checkpoint.h5 --data frames.h5 --workers 8 --platform sim/platforms/k40m-fdr.toml"});
}

}  // namespace paragrad::app
