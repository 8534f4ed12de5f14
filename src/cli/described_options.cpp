#include "cli/described_options.hpp"

#include <map>
#include <stdexcept>

#include "cli/foreign_words.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"

namespace paragrad::cli {
namespace {

/// "; with parameters: bits:K, top_k:SHARE"
std::string parameters_in(const core::CatalogueInfo& catalogue) {
  std::vector<std::string> names;
  for (const core::EntryInfo& entry : catalogue.entries)
    if (!entry.parameter.empty()) names.push_back(entry.name + entry.parameter);
  return names.empty() ? "" : core::format("; with parameters: {}", core::join(names, ", "));
}

CLI::Option* add_named(CLI::App& parser, const core::OptionList::Member& member, const std::string& help) {
  const core::OptionInfo& info = member.info;
  const std::string name = "--" + info.name;
  const auto take = [name, set = member.set](const CLI::results_t& given) {
    try {
      set(given.front());
    } catch (const core::OptionError& error) {
      throw CLI::ValidationError(name, error.reason);
    }
    return true;
  };
  return parser.add_option(name, CLI::callback_t(take), help)->type_name(type_of(info))->default_str(info.by_default);
}

CLI::Option* add_argument(CLI::App& parser, const core::OptionList::Member& member) {
  const core::OptionInfo& info = member.info;
  const auto take = [set = member.set](const CLI::results_t& given) {
    for (const std::string& text : given) set(text);
    return true;
  };
  CLI::Option* const option =
      parser.add_option(info.name, CLI::callback_t(take), with_flags(info.help))->type_name(type_of(info));
  if (info.many)
    option->expected(1, CLI::detail::expected_max_vector_size)
        ->allow_extra_args()
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return option->default_str(info.by_default);
}

void add(CLI::App& parser, const core::OptionList::Member& member) {
  const core::OptionInfo& info = member.info;
  const std::string help = with_flags(info.help) + (info.catalogue ? parameters_in(info.catalogue()) : "");
  CLI::Option* const option = info.positional ? add_argument(parser, member) : add_named(parser, member, help);
  option->configurable(!info.typed_only)->required(info.required);
  if (info.is(core::OptionMark::common))
    option->group("Common options");
  else if (!info.group.empty())
    option->group(info.group);
  if (info.expand) option->transform(info.expand);
  if (!info.catalogue) return;
  const core::CatalogueInfo catalogue = info.catalogue();
  option->check(no_foreign_word(catalogue.kind, catalogue.names()));
}

}  // namespace

std::string type_of(const core::OptionInfo& info) {
  if (!info.range.empty()) return core::format("{}:{}", info.kind, info.range);
  const std::vector<std::string> values = info.catalogue ? info.catalogue().names() : info.values;
  return values.empty() ? info.kind : core::format("{}:{{{}}}", info.kind, core::join(values, ","));
}

std::vector<core::OptionInfo> changed_options(const core::OptionList& now, const core::OptionList& before) {
  std::map<std::string, std::string> values;
  for (const auto& [info, _] : before.members()) values[info.name] = info.value;
  std::vector<core::OptionInfo> changed;
  for (const auto& [info, _] : now.members())
    if (!info.kind.empty() && info.value != values[info.name]) changed.push_back(info);
  return changed;
}

std::string word_of(const core::OptionInfo& option) {
  if (option.many) throw std::logic_error(core::format("the arguments `{}` are no single word", option.name));
  return option.positional ? option.value : core::format("--{}={}", option.name, option.value);
}

void add_options(CLI::App& parser, const core::OptionList& list) {
  for (const core::OptionList::Member& member : list.members())
    if (!member.info.kind.empty()) add(parser, member);
}

}  // namespace paragrad::cli
