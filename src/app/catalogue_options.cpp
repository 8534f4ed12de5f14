#include "app/catalogue_options.hpp"

#include <algorithm>

#include "app/foreign_words.hpp"
#include "app/number_options.hpp"
#include "core/format.hpp"
#include "core/join.hpp"

namespace paragrad::app {
namespace {

constexpr std::size_t most_users = 4;  // named in the help of an option

/// An option with the entries that have it.
struct SharedOption {
  core::OptionInfo info;
  std::vector<std::string> users;
};

/// Options in the order of their first entry, each once. An option of two catalogues belongs to the outer one.
void find_options(const core::CatalogueInfo& catalogue, std::vector<SharedOption>& found) {
  std::vector<core::CatalogueInfo> inner;
  const std::size_t first = found.size();
  for (const core::EntryInfo& entry : catalogue.entries)
    for (const core::OptionInfo& option : entry.options) {
      if (option.kind.empty()) continue;
      const auto known = std::ranges::find(found, option.name, [](const SharedOption& one) { return one.info.name; });
      if (known == found.end()) {
        found.push_back({option, {entry.name}});
        if (option.catalogue) inner.push_back(option.catalogue());
      } else if (static_cast<std::size_t>(known - found.begin()) >= first) {
        known->users.push_back(entry.name);
      }
    }
  for (const core::CatalogueInfo& one : inner) find_options(one, found);
}

/// "; with parameters: bits:K, top_k:SHARE"
std::string parameters_in(const core::CatalogueInfo& catalogue) {
  std::vector<std::string> names;
  for (const core::EntryInfo& entry : catalogue.entries)
    if (!entry.parameter.empty()) names.push_back(entry.name + entry.parameter);
  return names.empty() ? "" : core::format("; with parameters: {}", core::join(names, ", "));
}

std::string description_of(const SharedOption& option) {
  const std::string users =
      option.users.size() <= most_users ? core::format("{}: ", core::join(option.users, ", ")) : std::string();
  return users + option.info.help + (option.info.catalogue ? parameters_in(option.info.catalogue()) : "");
}

}  // namespace

std::string type_of(const core::OptionInfo& info) {
  if (!info.range.empty()) return core::format("{}:{}", info.kind, info.range);
  const std::vector<std::string> values = info.catalogue ? info.catalogue().names() : info.values;
  return values.empty() ? info.kind : core::format("{}:{{{}}}", info.kind, core::join(values, ","));
}

CLI::Option* add_choice(CLI::App& parser, const core::CatalogueInfo& catalogue, std::string& chosen,
                        const std::string& description) {
  return parser.add_option("--" + catalogue.kind, chosen, description + parameters_in(catalogue))
      ->check(known_names(catalogue.names()))
      ->check(no_foreign_word(catalogue.kind, catalogue.names()));
}

void add_entry_options(CLI::App& parser, const core::CatalogueInfo& catalogue, core::Settings& settings) {
  std::vector<SharedOption> found;
  find_options(catalogue, found);
  for (const SharedOption& option : found) {
    const auto take = [name = option.info.name, check = option.info.check, &settings](const std::string& text) {
      if (check) check(text);
      settings[name] = text;
    };
    CLI::Option* const added = numbers::add(parser, "--" + option.info.name, type_of(option.info), option.info.by_default,
                                            take, description_of(option));
    added->group(option.info.group);
    if (option.info.catalogue) {
      const core::CatalogueInfo inner = option.info.catalogue();
      added->check(no_foreign_word(inner.kind, inner.names()));
    }
  }
}

}  // namespace paragrad::app
