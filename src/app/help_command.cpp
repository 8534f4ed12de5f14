#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "app/commands.hpp"
#include "app/program_parser.hpp"
#include "backend/backend_info.hpp"
#include "cli/described_options.hpp"
#include "cli/foreign_words.hpp"
#include "cli/option_values.hpp"
#include "comm/compression/gradient_sum.hpp"
#include "comm/operations.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/json.hpp"
#include "core/names.hpp"
#include "data/partitioning.hpp"
#include "nn/loss.hpp"
#include "nn/node_text.hpp"
#include "nn/zoo/zoo.hpp"
#include "optim/local_optimiser.hpp"
#include "optim/schedule.hpp"
#include "sim/builtin_platforms.hpp"
#include "sim/network/network.hpp"
#include "strategies/strategy.hpp"

namespace paragrad::app {
namespace {

struct HelpArguments {
  std::string name;
  std::string format = "text";

  void describe(core::OptionList& list) {
    list.argument(
        "name", name,
        "a command, an option such as momentum, or an entry such as bmuf; all: list all entries (default: commands)");
    list.choice("format", format, {"text", "json"}, "text, or json for a command's options and for entries with theirs");
  }
};

std::vector<core::CatalogueInfo> catalogues() {
  return {strategies::strategy_catalogue(),
          data::partitioner_catalogue(),
          comm::compression_catalogue(),
          comm::collective_catalogue(),
          optim::optimiser_catalogue(),
          optim::schedule_catalogue(),
          nn::loss_catalogue(),
          nn::zoo_catalogue(),
          nn::op_catalogue(),
          backend::activation_catalogue(),
          backend::device_catalogue(),
          sim::platform_catalogue(),
          sim::network_catalogue()};
}

std::string indented(const std::string& lines) { return "  " + CLI::detail::find_and_replace(lines, "\n", "\n  ") + "\n"; }

/// "--strategy bmuf"; "--compression bits:K or --outer-compression bits:K"
std::string chosen_by(const core::CatalogueInfo& catalogue, const std::string& entry) {
  std::vector<std::string> choices{cli::with_flags(catalogue.choice(entry))};
  for (const core::EntryInfo& user : strategies::strategy_catalogue().entries)
    for (const core::OptionInfo& option : user.options) {
      if (!option.catalogue || option.catalogue().kind != catalogue.kind) continue;
      const std::string choice = core::format("--{} {}", option.name, entry);
      if (std::ranges::find(choices, choice) == choices.end()) choices.push_back(choice);
    }
  return core::format("{}", core::join(choices, " or "));
}

void print_entry(const core::CatalogueInfo& catalogue, const core::EntryInfo& entry) {
  fmt::print("{}: {}\n  {}; chosen by {}{}\n", entry.name, entry.summary, catalogue.kind,
             chosen_by(catalogue, entry.name + entry.parameter),
             entry.example.empty() ? "" : core::format(", such as {}{}", entry.name, entry.example));
  if (!entry.serves.empty()) fmt::print("  for {}\n", core::join(entry.serves, ", "));
  if (!entry.source.empty()) fmt::print("  source: {}\n", entry.source);
  if (!entry.formula.empty()) fmt::print("\n{}", indented(entry.formula));
  std::vector<std::string> elsewhere;
  for (const core::OptionInfo& option : entry.options) {
    if (option.kind.empty())
      elsewhere.push_back("--" + option.name);
    else
      fmt::print("\n  {}{} {}{}\n      {}\n", catalogue.in_text.empty() ? "--" : "", option.name, cli::type_of(option),
                 option.by_default.empty() ? "" : "=" + option.by_default, option.help);
  }
  if (!elsewhere.empty()) fmt::print("\n  also used: {}\n", core::join(elsewhere, ", "));
}

core::Json json_of(const core::CatalogueInfo& catalogue) {
  core::Json entries = core::Json::array();
  for (const core::EntryInfo& entry : catalogue.entries) {
    core::Json options = core::Json::array();
    for (const core::OptionInfo& option : entry.options)
      options.push_back({{"name", option.name},
                         {"kind", option.kind},
                         {"range", option.range},
                         {"values", option.catalogue ? option.catalogue().names() : option.values},
                         {"default", option.by_default},
                         {"help", option.help}});
    entries.push_back({{"name", entry.name},
                       {"parameter", entry.parameter},
                       {"example", entry.name + entry.example},
                       {"summary", entry.summary},
                       {"serves", entry.serves},
                       {"source", entry.source},
                       {"formula", entry.formula},
                       {"options", options}});
  }
  return {{"kind", catalogue.kind}, {"plural", catalogue.plural}, {"in_text", catalogue.in_text}, {"entries", entries}};
}

void print_all_entries() {
  for (const core::CatalogueInfo& catalogue : catalogues()) {
    fmt::print("{}\n", catalogue.plural);
    for (const core::EntryInfo& entry : catalogue.entries)
      fmt::print("  {:<26}{}\n", entry.name + entry.parameter, entry.description());
    fmt::print("\n");
  }
  fmt::print("'{} help NAME' shows one of them with its options.\n", cli::program_name);
}

/// The entries of that name: there may be a strategy and an optimiser of one name.
bool print_entries(const std::string& name) {
  bool found = false;
  for (const core::CatalogueInfo& catalogue : catalogues())
    for (const core::EntryInfo& entry : catalogue.entries) {
      if (entry.name != core::without_parameter(name)) continue;
      if (found) fmt::print("\n");
      print_entry(catalogue, entry);
      found = true;
    }
  return found;
}

/// Calls see(command, option) for the options of all commands: "data import-csv", its --label.
void for_all_options(const std::function<void(const std::string&, const CLI::Option&)>& see) {
  const auto see_parser = [&](const std::string& command, const CLI::App& parser) {
    for (const CLI::Option* option : cli::named_options(parser)) see(command, *option);
  };
  const auto program = make_program();
  for (const CLI::App* command : program->get_subcommands({})) {
    const auto parser = make_command(command->get_name()).parser;
    see_parser(command->get_name(), *parser);
    for (const CLI::App* below : parser->get_subcommands({}))
      see_parser(core::format("{} {}", command->get_name(), below->get_name()), *below);
  }
}

bool is_option(const std::string& name) {
  bool found = false;
  for_all_options([&](const std::string&, const CLI::Option& option) { found |= option.check_lname(name); });
  return found;
}

/// What the commands say about their options of that name, each text once.
bool print_options(const std::string& name, bool after_entries) {
  std::vector<std::pair<std::string, std::vector<std::string>>> texts;  // and the commands that say so
  for_all_options([&](const std::string& command, const CLI::Option& option) {
    if (!option.check_lname(name)) return;
    const std::string by_default = option.get_default_str();
    const std::string text = core::format("--{} {}{}\n  {}\n", name, option.get_type_name(),
                                          by_default.empty() ? "" : "=" + by_default, option.get_description());
    const auto known = std::ranges::find(texts, text, &decltype(texts)::value_type::first);
    if (known == texts.end())
      texts.push_back({text, {command}});
    else
      known->second.push_back(command);
  });
  for (const auto& [text, commands] : texts)
    fmt::print("{}{}  option of {}\n", std::exchange(after_entries, true) ? "\n" : "", text, core::join(commands, ", "));
  return !texts.empty();
}

/// What the name is here, if users of other programs know it as a command, an entry or an option of training.
std::string answer_to_topic(const std::string& name, const std::vector<std::string>& commands) {
  std::string answer = cli::foreign_answer("command", name, commands);
  for (const core::CatalogueInfo& catalogue : catalogues())
    if (answer.empty()) answer = cli::foreign_answer(catalogue.kind, name, catalogue.names());
  if (!answer.empty()) return answer;
  std::vector<std::string> options;
  const auto training = make_command("train").parser;
  for (const CLI::Option* option : cli::named_options(*training))
    for (const std::string& typed : cli::typed_names(*option)) options.push_back(typed);
  return cli::foreign_answer("option", name, options);
}

core::ConfigError unknown_topic(const std::string& name) {
  std::vector<std::string> known;
  const auto program = make_program();
  for (const CLI::App* command : program->get_subcommands({})) known.push_back(command->get_name());
  std::string answer = answer_to_topic(name, known);
  known.push_back("all");
  for (const core::CatalogueInfo& catalogue : catalogues()) std::ranges::copy(catalogue.names(), std::back_inserter(known));
  for_all_options([&](const std::string&, const CLI::Option& option) {
    std::ranges::copy(option.get_lnames(), std::back_inserter(known));
  });
  const std::string near = core::nearest_name(name, known);
  if (answer.empty() && !near.empty()) answer = core::format("did you mean {}?", near);
  const std::string all = core::format("'{} help all' lists strategies, optimisers and the like", cli::program_name);
  return core::ConfigError(
      core::format("nothing is called '{}'; {}", name, answer.empty() ? all : core::format("{} ({})", answer, all)));
}

/// A command's options, and those of its own commands.
core::Json json_of(const CLI::App& parser) {
  core::Json options = core::Json::array(), commands = core::Json::array();
  for (const CLI::Option* option : cli::named_options(parser)) {
    const std::string type = option->get_type_name();
    const bool limited = type.find(':') != std::string::npos && type.find('{') == std::string::npos;
    options.push_back({{"name", option->get_single_name()},
                       {"kind", cli::value_kind(*option)},
                       {"range", limited ? type.substr(type.find(':') + 1) : ""},
                       {"values", cli::known_values(*option)},
                       {"default", option->get_default_str()},
                       {"help", option->get_description()},
                       {"group", option->get_group()}});
  }
  for (const CLI::App* below : parser.get_subcommands({})) commands.push_back(json_of(*below));
  return {
      {"command", parser.get_name()}, {"summary", cli::summary_of(parser)}, {"options", options}, {"commands", commands}};
}

/// Catalogues, whole or with the entries of that name only, and the command of that name.
void print_json(const std::string& name) {
  core::Json all = core::Json::array();
  for (core::CatalogueInfo& catalogue : catalogues()) {
    if (!name.empty() && name != "all" && name != catalogue.kind)
      std::erase_if(catalogue.entries, [&](const auto& entry) { return entry.name != core::without_parameter(name); });
    if (!catalogue.entries.empty()) all.push_back(json_of(catalogue));
  }
  const auto program = make_program();
  for (const CLI::App* command : program->get_subcommands({}))
    if (command->get_name() == name) all.push_back(json_of(*make_command(name).parser));
  if (all.empty() && is_option(name))
    throw core::ConfigError(core::format("'{}' is an option, whose help is text: leave out --format json", name));
  if (all.empty()) throw unknown_topic(name);
  fmt::print("{}\n", core::text_of(all, 2));
}

void print_help(const HelpArguments& arguments) {
  if (arguments.format == "json") return print_json(arguments.name);
  const auto program = make_program();
  if (arguments.name.empty()) {
    fmt::print("{}", program->help());
    return;
  }
  if (arguments.name == "all") return print_all_entries();
  for (const CLI::App* command : program->get_subcommands({}))
    if (command->get_name() == arguments.name) {
      fmt::print("{}", make_command(arguments.name).parser->help(cli::program_name));
      return;
    }
  const bool is_entry = print_entries(arguments.name);
  if (!print_options(arguments.name, is_entry) && !is_entry) throw unknown_topic(arguments.name);
}

}  // namespace

cli::Command help_command() {
  return cli::command_of<HelpArguments>(
      {.name = "help",
       .description = "Describe a command, an option, or what an option chooses, such as a strategy, a model or a platform.",
       .examples = "paragrad help bmuf\nparagrad help momentum\nparagrad help resnet\nparagrad help all\nparagrad help "
                   "--format json"},
      [](HelpArguments& arguments, const CLI::App&) {
        print_help(arguments);
        return cli::success;
      });
}

}  // namespace paragrad::app
