#include "cli/command.hpp"

#include <algorithm>
#include <cstdio>
#include <regex>

#include "cli/config_file.hpp"
#include "cli/foreign_words.hpp"
#include "cli/option_values.hpp"
#include "cli/option_words.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/printable.hpp"

namespace paragrad::cli {
namespace {

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() {
    column_width(34);
    label("SUBCOMMAND", "COMMAND");
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return core::format("  {:<15} {}\n", command->get_name(), summary_of(*command));
  }
};

/// The text before a parser's own name on the command line.
std::string prefix_of(const CLI::App& parser) { return parser.get_name() == program_name ? "" : program_name; }

/// Names the unknown command; CLI11 would only report that a command is missing.
void check_subcommand(const CLI::App& parser, std::span<char*> arguments) {
  if (arguments.empty() || arguments[0][0] == '-' || parser.get_require_subcommand_min() == 0) return;
  std::vector<std::string> known;
  for (const CLI::App* command : parser.get_subcommands({})) known.push_back(command->get_name());
  if (std::ranges::find(known, arguments[0]) != known.end()) return;
  const std::string kind = parser.get_name() + " command", answer = foreign_answer(kind, arguments[0], known);
  if (answer.empty()) throw core::unknown_name(kind, arguments[0], known);
  throw core::ConfigError(core::format("unknown {} '{}'; {}", kind, arguments[0], answer));
}

/// An error for an unexpected word, with the option that may have been meant.
std::string unexpected(const CLI::App& parser, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  if (!name.starts_with('-')) return core::format("'{}' is not expected here", word);
  std::vector<std::string> known;
  for (const CLI::Option* option : named_options(parser))
    for (const std::string& typed : typed_names(*option))
      if (typed.starts_with("--") || !name.starts_with("--")) known.push_back(typed);  // --h is not -h
  const std::string answer = answer_to("option", name, known);
  return core::format("unknown option '{}'{}{}", name, answer.empty() ? "" : "; ", answer);
}

}  // namespace

std::shared_ptr<CLI::App> make_parser(const std::string& name, const std::string& description) {
  auto parser = std::make_shared<CLI::App>(description, name);
  parser->option_defaults()->always_capture_default();
  parser->formatter(std::make_shared<HelpFormatter>());
  return parser;
}

std::string summary_of(const CLI::App& parser) {
  const std::string description = parser.get_description();
  return description.substr(0, description.find('\n'));
}

void accept_config_file(CLI::App& parser) {
  parser.set_config("--config", "", "TOML file to read options from; the command line takes precedence")->type_name("PATH");
  parser.config_formatter(std::make_shared<ConfigFile>(parser));
}

void set_examples(CLI::App& parser, const std::string& commands) {
  parser.footer("Examples:\n  " + CLI::detail::find_and_replace(commands, "\n", "\n  "));
}

std::optional<int> parse(CLI::App& parser, std::span<char*> arguments) {
  check_subcommand(parser, arguments);
  std::vector<std::string> reversed = words_with_values(parser, arguments);
  std::ranges::reverse(reversed);  // the order that CLI11 expects
  try {
    parser.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", parser.help(prefix_of(parser)));
    return success;
  } catch (const CLI::Success& version) {
    fmt::print("{}\n", version.what());
    return success;
  } catch (const CLI::FileError&) {
    throw core::ConfigError(core::format("cannot read the --config file '{}'", parser.get_config_ptr()->as<std::string>()));
  } catch (const CLI::ParseError& error) {
    // An unknown option comes first: what CLI11 misses may be what it was to give.
    const std::vector<std::string> extra = parser.remaining(true);
    const std::string prefix = prefix_of(parser);
    throw core::ConfigError(core::format("{} (see {}{}{} --help)",
                                         extra.empty() ? error.what() : unexpected(parser, extra.front()), prefix,
                                         prefix.empty() ? "" : " ", parser.get_name()));
  }
  return std::nullopt;
}

std::string with_flags(const std::string& message) {
  static const std::regex option("`([a-z][a-z0-9-]*)`"), command("`(data [a-z-]+)`");
  return std::regex_replace(std::regex_replace(message, option, "--$1"), command, "'paragrad $1'");
}

void print_error(std::string_view message) {
  fmt::print(stderr, "paragrad: {}\n", with_flags(core::printable_message(message)));
  std::fflush(stderr);
}

}  // namespace paragrad::cli
