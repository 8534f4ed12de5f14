#include "app/option_use.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

#include "app/option_values.hpp"
#include "comm/compression/gradient_sum.hpp"
#include "comm/operations.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "nn/model.hpp"
#include "nn/node_text.hpp"

namespace paragrad::app {
namespace {

using Catalogues = std::vector<OptionUse::Catalogue>;

/// Whether an entry uses the option, directly or through another catalogue that it uses.
bool may_use(const OptionUse::Entry& entry, const std::string& option, const Catalogues& catalogues) {
  const std::set<std::string>& own = entry.options;
  return own.contains(option) || std::ranges::any_of(catalogues, [&](const auto& other) {
           return own.contains(other.kind) &&
                  std::ranges::any_of(other.entries, [&](const auto& below) { return may_use(below, option, catalogues); });
         });
}

std::vector<std::string> users_of(const std::string& option, const OptionUse::Catalogue& catalogue,
                                  const Catalogues& catalogues) {
  std::vector<std::string> users;
  for (const auto& entry : catalogue.entries)
    if (may_use(entry, option, catalogues)) users.push_back(entry.name);
  return users;
}

/// "the strategy diloco", "the optimisers adam and adamw"
std::string listed(const OptionUse::Catalogue& catalogue, const std::vector<std::string>& entries) {
  if (entries.size() == 1) return core::format("the {} {}", catalogue.kind, entries.front());
  const std::vector<std::string> most(entries.begin(), entries.end() - 1);
  return core::format("the {} {} and {}", catalogue.plural, core::join(most, ", "), entries.back());
}

/// ", but --collective and --balance"; "" if the chosen entry has no options.
std::string options_instead(const OptionUse::Catalogue& catalogue) {
  for (const OptionUse::Entry& entry : catalogue.entries)
    if (entry.name == core::without_parameter(catalogue.chosen) && !entry.options.empty())
      return core::format(", but --{}", core::join(entry.options, ", --"));
  return "";
}

/// Values that switch a feature off.
bool is_off(const std::string& option, const std::string& value) {
  static const std::map<std::string, std::string> off{{"block-momentum-time-constant", "0"},
                                                      {"compression", "none"},
                                                      {"gradient-bits", "32"},
                                                      {"learning-rate-per", "sample"},
                                                      {"max-steps", "0"},
                                                      {"momentum", "0"},
                                                      {"momentum-time-constant", "0"},
                                                      {"pretrain-momentum", "0"},
                                                      {"record", "none"},
                                                      {"servers", "0"},
                                                      {"sparsity-cost", "0"},
                                                      {"workers-per-node", "0"}};
  const auto found = off.find(option);
  if (found == off.end()) return false;
  if (found->second != "0") return value == found->second;
  return value.find_first_not_of("0.") == std::string::npos;
}

bool is_switch(const CLI::Option& option) { return value_kind(option) == "BOOLEAN" || option.get_expected_min() == 0; }

std::string value_of(const CLI::Option& option) { return option.results().empty() ? "" : option.results().back(); }

}  // namespace

bool OptionUse::given(const std::string& option) const {
  const CLI::Option* const found = parser_.get_option_no_throw("--" + option);
  return found != nullptr && found->count() > 0;
}

void OptionUse::require(bool used, const std::vector<std::string>& options, const std::string& why,
                        const std::string& whole) {
  if (used) return;
  for (const std::string& option : options) {
    reasons_.emplace(option, core::format("--{} {}", option, why));
    if (!whole.empty() && given(whole)) switched_off_.insert(option);
  }
}

void OptionUse::choose(const std::vector<Catalogue>& catalogues) {
  std::set<std::string> claimed, used;
  // A catalogue is active if its own option is used: earlier catalogues decide about later ones.
  std::vector<const Catalogue*> active;
  for (const Catalogue& catalogue : catalogues) {
    for (const Entry& entry : catalogue.entries) claimed.insert(entry.options.begin(), entry.options.end());
    if (claimed.contains(catalogue.kind) && !used.contains(catalogue.kind)) continue;
    active.push_back(&catalogue);
    for (const Entry& entry : catalogue.entries)
      if (entry.name == core::without_parameter(catalogue.chosen)) used.insert(entry.options.begin(), entry.options.end());
  }
  for (const std::string& option : claimed) {
    if (used.contains(option)) continue;
    // The reason given is the last choice that could have been different.
    for (auto catalogue = active.rbegin(); catalogue != active.rend(); ++catalogue) {
      const std::vector<std::string> users = users_of(option, **catalogue, catalogues);
      if (users.empty()) continue;
      reasons_.emplace(option, core::format("--{} is an option of {}; {} does not use it{}", option,
                                            listed(**catalogue, users), (*catalogue)->chosen, options_instead(**catalogue)));
      break;
    }
  }
}

std::optional<std::string> OptionUse::unused(const std::string& option) const {
  const auto found = reasons_.find(option);
  return found == reasons_.end() ? std::nullopt : std::optional(found->second);
}

void OptionUse::check() const {
  for (const CLI::Option* option : named_options(parser_)) {
    const std::string name = option->get_single_name();
    const auto why = option->count() > 0 ? unused(name) : std::nullopt;
    if (!why || switched_off_.contains(name)) continue;
    const bool off = is_switch(*option) ? !option->as<bool>() : is_off(name, value_of(*option));
    if (!off) throw core::ConfigError(*why);
  }
}

std::string OptionUse::config() const {
  std::istringstream all(parser_.config_to_str(true));
  std::string result;
  for (std::string line; std::getline(all, line);)
    if (!unused(line.substr(0, line.find('=')))) result += line + "\n";
  return result;
}

void OptionUse::keep_used(core::Settings& settings) const {
  std::erase_if(settings, [&](const auto& setting) { return unused(setting.first).has_value(); });
}

std::string OptionUse::value(const std::string& option) const {
  const CLI::Option* const found = parser_.get_option_no_throw("--" + option);
  if (found == nullptr) throw std::logic_error(core::format("there is no option --{}", option));
  return found->count() > 0 ? value_of(*found) : found->get_default_str();
}

bool OptionUse::is_on(const std::string& option) const {
  const std::string text = value(option);
  return text.find_first_not_of("0.") != std::string::npos && text != "false";
}

OptionUse::Catalogue choice_from(const core::CatalogueInfo& catalogue, const std::string& chosen) {
  OptionUse::Catalogue result{catalogue.kind, catalogue.plural, chosen, {}};
  for (const core::EntryInfo& entry : catalogue.entries) {
    result.entries.push_back({entry.name, {}});
    for (const core::OptionInfo& option : entry.options) result.entries.back().options.insert(option.name);
  }
  return result;
}

void require_recurrent(OptionUse& use, const std::string& model) {
  use.require(nn::make_graph(model).is_recurrent(), {"chunks"},
              core::format("applies to recurrent models only, and '{}' is not recurrent", nn::short_name(model)));
}

OptionUse use_of_training(const CLI::App& parser, const TrainingArguments& arguments, bool computes) {
  const train::TrainingOptions& options = arguments.options;
  OptionUse use(parser);
  const std::string compression =
      arguments.gradient_bits == 32 ? use.value("compression") : core::format("bits:{}", arguments.gradient_bits);
  use.choose({choice_from(strategies::strategy_catalogue(), options.strategy),
              choice_from(comm::compression_catalogue(), compression),
              choice_from(comm::collective_catalogue(comm::Operation::allreduce), use.value("collective")),
              choice_from(optim::optimiser_catalogue(), options.optimiser.name),
              choice_from(optim::schedule_catalogue(), options.schedule.name)});

  // Of two options for the same thing, the one that was given is used.
  const bool per_sample = use.given("lr-per-sample");
  use.require(!per_sample, {"learning-rate"}, "cannot be combined with --lr-per-sample: give one of them");
  use.require(use.given("learning-rate"), {"learning-rate"}, "was not given");
  use.require(per_sample, {"lr-per-sample"}, "was not given");
  use.require(!per_sample, {"learning-rate-per"}, "is implied by --lr-per-sample: leave it out");
  use.require(options.momentum_time_constant == 0, {"momentum"},
              "is replaced by --momentum-time-constant: give one of them");
  use.require(!use.is_on("block-momentum-time-constant"), {"block-momentum"},
              "is replaced by --block-momentum-time-constant: give one of them");
  use.require(options.sync_period == 0, {"blocks"},
              "conflicts with --sync-period, which sets the number of blocks: give one of them");
  use.require(arguments.gradient_bits == 32, {"compression"}, "sets the same as --gradient-bits: give one of them");
  use.require(arguments.gradient_bits != 32 || use.value("compression") == "none", {"gradient-bits"},
              "sets the same as --compression: give one of them");

  // Options that refine a feature which is not in use.
  require_recurrent(use, options.model);
  use.require(!options.data.empty(), {"context"}, "applies to the frames of a data file: give --data too, or leave it out");
  use.require(use.is_on("bucket-bytes") && !use.is_on("buffered"), {"overlap"},
              use.is_on("buffered")
                  ? "has no effect with --buffered, which exchanges gradients during the next minibatch anyway"
                  : "has no effect without buckets: give --bucket-bytes too");
  use.require(compression == "bits:1", {"quantise-threshold"},
              core::format("applies to gradients of 1 bit only, not to the compression '{}'", compression));
  use.require(options.loss == "cross_entropy", {"label-smoothing"},
              core::format("applies to --loss cross_entropy, not to {}", options.loss));
  use.require(options.l2 > 0, {"l2-on"}, "has no effect without --l2: give both", "l2");
  use.require(options.optimiser.clip_per_sample > 0, {"clip"}, "has no effect without --clip-gradient: give both",
              "clip-gradient");
  use.require(options.minibatch_search.enabled,
              {"minibatch-tuning-frequency", "minibatch-max", "minibatch-error-margin", "minibatch-search-samples"},
              "needs --auto-minibatch true", "auto-minibatch");
  use.require(options.pretraining.epochs > 0,
              {"pretrain-learning-rate", "pretrain-momentum", "pretrain-l2", "pretrain-minibatch",
               "pretrain-weight-deviation", "pretrain-activations", "visible-units", "cd-steps", "persistent-chains",
               "sample-reconstructions", "sparsity-target", "sparsity-cost"},
              "needs --pretrain-epochs", "pretrain-epochs");
  use.require(optim::heeds_momentum(options.optimiser.name), {"pretrain-momentum"},
              core::format("has no effect: the optimiser {} has no momentum", options.optimiser.name));
  use.require(options.pretraining.machine.sparsity_cost > 0, {"sparsity-target"},
              "has no effect without --sparsity-cost: give both", "sparsity-cost");
  use.require(options.epochs > 0,
              {"learning-rate",
               "learning-rate-per",
               "lr-per-sample",
               "schedule",
               "schedule-factor",
               "schedule-every",
               "schedule-rates",
               "newbob-improvement",
               "newbob-restore",
               "momentum",
               "momentum-time-constant",
               "unit-gain-momentum",
               "l2",
               "l2-on",
               "label-smoothing",
               "clip-gradient",
               "clip",
               "max-norm",
               "auto-minibatch",
               "minibatch-tuning-frequency",
               "minibatch-max",
               "minibatch-error-margin",
               "minibatch-search-samples",
               "target-error",
               "ema-decay",
               "keep-best",
               "parallel-start-epoch"},
              "applies to the training of the network, but --epochs 0 only pretrains");
  use.require(!computes, {"train-samples", "valid-samples", "test-samples", "max-steps", "fast-collectives"},
              "needs --device meta (a timing run)");
  use.require(computes, {"keep-best", "init", "shuffle"}, "has no effect in a timing run");
  use.require(arguments.instruments.timeline, {"timeline-events"}, "needs --timeline");
  use.require(!arguments.out.empty(), {"overwrite"}, "needs --out: it replaces the run in that folder");
  return use;
}

void settle(const OptionUse& use, TrainingArguments& arguments) {
  use.check();
  train::TrainingOptions& options = arguments.options;
  for (core::Settings* settings : {&options.strategy_settings, &options.optimiser.settings, &options.schedule.settings})
    use.keep_used(*settings);
  if (arguments.gradient_bits != 32)
    options.strategy_settings["compression"] = core::format("bits:{}", arguments.gradient_bits);
}

}  // namespace paragrad::app
