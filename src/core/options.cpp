#include "core/options.hpp"

#include <algorithm>
#include <set>

#include "core/join.hpp"
#include "core/names.hpp"

namespace paragrad::core {
namespace {

bool parse_flag(const std::string& option, const std::string& text) {
  for (const char* yes : {"true", "on", "yes", "1"})
    if (text == yes) return true;
  for (const char* no : {"false", "off", "no", "0"})
    if (text == no) return false;
  throw OptionError(option, format("'{}' is neither true nor false", text));
}

/// Adds the options that the entry has with these settings, its choices from other catalogues included.
void add_names(const EntryInfo& entry, const Settings& settings, std::set<std::string>& names) {
  for (const OptionInfo& option : entry.options) {
    names.insert(option.name);
    if (!option.catalogue) continue;
    const auto given = settings.find(option.name);
    const std::string chosen = given == settings.end() ? option.by_default : given->second.text();
    for (const EntryInfo& below : option.catalogue().entries)
      if (below.name == without_parameter(chosen)) add_names(below, settings, names);
  }
}

}  // namespace

std::vector<std::string> CatalogueInfo::names() const {
  std::vector<std::string> result;
  for (const EntryInfo& entry : entries) result.push_back(entry.name);
  return result;
}

void OptionList::numbers(const std::string& name, std::vector<double>& values, Limits<double> limits,
                         const std::string& help) {
  const auto parse = [name, limits](const std::string& text) {
    std::vector<double> result;
    for (const std::string& piece : list_of(name, text)) result.push_back(parse_number<double>(name, piece, limits));
    return result;
  };
  add({.name = name,
       .kind = "FLOAT,...",
       .range = core::describe(limits),
       .by_default = format("{}", join(values, ",")),
       .help = help,
       .check = parse},
      [&values, parse](const std::string& text) { values = parse(text); });
}

void OptionList::flag(const std::string& name, bool& value, const std::string& help) {
  const auto parse = [name](const std::string& text) { return parse_flag(name, text); };
  add({.name = name, .kind = "BOOLEAN", .by_default = value ? "true" : "false", .help = help, .check = parse},
      [&value, parse](const std::string& text) { value = parse(text); });
}

void OptionList::text(const std::string& name, std::string& value, const std::string& help) {
  add({.name = name, .kind = "TEXT", .by_default = value, .help = help},
      [&value](const std::string& text) { value = text; });
}

void OptionList::entry(const std::string& name, std::string& value, std::function<CatalogueInfo()> catalogue,
                       const std::string& help) {
  add({.name = name, .kind = "TEXT", .by_default = value, .help = help, .catalogue = std::move(catalogue)},
      [&value](const std::string& text) { value = text; });
}

std::size_t OptionList::index_of(const std::string& option, const std::string& text, const std::vector<std::string>& names) {
  const auto found = std::ranges::find(names, text);
  if (found == names.end()) throw OptionError(option, format("'{}' is unknown; {}", text, suggestion(text, names)));
  return static_cast<std::size_t>(found - names.begin());
}

void OptionList::add(OptionInfo info, std::function<void(const std::string&)> set) {
  const bool described_elsewhere = info.kind.empty();  // two parts of a strategy may use the same option
  if (described_elsewhere && std::ranges::any_of(members_, [&](const Member& one) { return one.info.name == info.name; }))
    return;
  info.group = group_;
  members_.push_back({std::move(info), std::move(set)});
}

void OptionList::read(const Settings& settings) const {
  for (const Member& member : members_) {
    const auto given = settings.find(member.info.name);
    if (given != settings.end()) member.set(given->second.text());
  }
}

std::vector<OptionInfo> OptionList::infos() const {
  std::vector<OptionInfo> result;
  for (const Member& member : members_) result.push_back(member.info);
  return result;
}

std::map<std::string, std::string> values_of(const EntryInfo& entry, const Settings& settings) {
  std::map<std::string, std::string> values;
  for (const OptionInfo& option : entry.options) {
    if (option.kind.empty()) continue;
    const auto given = settings.find(option.name);
    values[option.name] = given == settings.end() ? option.by_default : given->second.text();
  }
  return values;
}

std::vector<std::string> list_of(const std::string& option, const std::string& text) {
  std::vector<std::string> result;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end == begin)
      throw OptionError(option, text.empty() ? "'' is not a list" : format("'{}' has an empty element", text));
    result.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

std::string_view without_parameter(std::string_view name) { return name.substr(0, name.find(':')); }

void check_keys(std::string_view whose, const std::vector<OptionInfo>& options, const Settings& settings) {
  std::vector<std::string> names;
  for (const OptionInfo& option : options) names.push_back(option.name);
  for (const auto& [name, _] : settings)
    if (std::ranges::find(names, name) == names.end())
      throw ConfigError(format("{} has no '{}'{}{}", whose, name, names.empty() ? "" : "; it takes ", join(names, ", ")));
}

void check_settings(const EntryInfo& entry, std::string_view kind, const Settings& settings) {
  std::set<std::string> names;
  add_names(entry, settings, names);
  for (const auto& [name, _] : settings)
    if (!names.contains(name))
      throw ConfigError(names.empty() ? format("the {} {} has no options, and hence no `{}`", kind, entry.name, name)
                                      : format("the {} {} has no option `{}`; its options are `{}`", kind, entry.name, name,
                                               join(names, "`, `")));
}

}  // namespace paragrad::core
