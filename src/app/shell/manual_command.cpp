#include <algorithm>
#include <cctype>

#include "app/commands.hpp"
#include "app/program_parser.hpp"
#include "cli/option_values.hpp"
#include "core/build_info.hpp"
#include "core/format.hpp"
#include "core/join.hpp"

namespace paragrad::app {
namespace {

/// Escapes text for roff: a leading dot or quote starts a request, a backslash an escape, and a plain hyphen cannot be
/// copied.
std::string escaped(const std::string& text) {
  std::string result;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) result += "\\&";
    line_begins = c == '\n';
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
  }
  return result;
}

std::string upper_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string section(const std::string& title) { return core::format(".SH \"{}\"\n", upper_case(escaped(title))); }

/// Lines without filling.
std::string verbatim(const std::string& text) { return core::format(".nf\n{}\n.fi\n", escaped(text)); }

std::string entry(const CLI::Option& option) {
  const auto typed = cli::typed_names(option);
  const std::string kind = cli::value_kind(option), name = core::format("{}", core::join(typed, ", "));
  std::string text =
      core::format(".TP\n\\fB{}\\fR{}\n{}", escaped(typed.empty() ? option.get_name() : name),
                   kind.empty() ? "" : core::format(" \\fI{}\\fR", escaped(kind)), escaped(option.get_description()));
  if (option.get_required()) text += " (required)";
  const auto values = cli::known_values(option);
  if (!values.empty() && kind != "BOOLEAN")
    text += core::format("\n.br\nKnown: {}", escaped(core::format("{}", core::join(values, ", "))));
  if (!kind.empty() && !option.get_default_str().empty())
    text += core::format("\n.br\nDefault: {}", escaped(option.get_default_str()));
  return text + "\n";
}

std::string entries(const CLI::App& parser) {
  std::string text;
  for (const CLI::Option* argument : cli::unnamed_arguments(parser)) text += entry(*argument);
  for (const std::string& group : parser.get_groups()) {
    std::string of_group;
    for (const CLI::Option* option : cli::named_options(parser))
      if (option->get_group() == group && option != parser.get_help_ptr()) of_group += entry(*option);
    if (!of_group.empty() && group != "Options") text += core::format(".PP\n\\fI{}\\fR\n", escaped(group));
    text += of_group;
  }
  return text;
}

std::string synopsis(const CLI::App& parser) {
  std::string text;
  for (const CLI::Option* argument : cli::unnamed_arguments(parser))
    text += core::format(" \\fI{}\\fR{}", escaped(argument->get_name()), argument->get_expected_max() > 1 ? " ..." : "");
  return text;
}

/// The pages of a command and its subcommands.
std::string command_pages(const CLI::App& command, const std::string& above) {
  const std::string name = above + " " + command.get_name(), footer = command.get_footer();
  std::string text = core::format(".SS \"{}\"\n{}\n", escaped(name), escaped(command.get_description()));
  if (command.get_subcommands({}).empty())
    text += core::format(".PP\n\\fB{}\\fR [options]{}\n", escaped(name), synopsis(command)) + entries(command);
  if (!footer.empty()) text += ".PP\n" + verbatim(footer);
  for (const CLI::App* below : command.get_subcommands({})) text += command_pages(*below, name);
  return text;
}

/// A section for each titled part of the footer, such as "Exit codes:" with the lines below it.
std::string footer_sections(const std::string& footer) {
  std::string text;
  for (std::size_t begin = 0; begin < footer.size();) {
    const std::size_t end = std::min(footer.find("\n\n", begin), footer.size());
    const std::string part = footer.substr(begin, end - begin);
    if (const auto colon = part.find(":\n"); colon != std::string::npos)
      text += section(part.substr(0, colon)) + verbatim(part.substr(colon + 2));
    begin = end + 2;
  }
  return text;
}

std::string manual_of(const CLI::App& program) {
  const std::string& name = program.get_name();
  std::string text = core::format(".TH {} 1 \"\" \"{} {}\"\n", upper_case(name), name, core::build_info().version);
  text += section("Name") + core::format("{} \\- {}\n", name, escaped(program.get_description()));
  text += section("Synopsis") + core::format("\\fB{}\\fR \\fICOMMAND\\fR [options]\n", name);
  text += section("Options") + entries(program);
  std::string purpose;
  for (const CLI::App* command : program.get_subcommands({})) {
    if (command->get_group() != purpose) text += section(command->get_group());
    purpose = command->get_group();
    text += command_pages(*command, name);
  }
  return text + footer_sections(program.get_footer());
}

}  // namespace

cli::Command manual_command() {
  auto parser = cli::make_parser("manual",
                                 "Print the manual page (roff) of all commands and options.\n"
                                 "To read it: paragrad manual | man -l -");
  cli::set_examples(*parser, "paragrad manual > paragrad.1");
  return {parser, [] {
            fmt::print("{}", manual_of(*make_program()));
            return cli::success;
          }};
}

}  // namespace paragrad::app
