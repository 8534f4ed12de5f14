#include "search/methods.hpp"

#include <algorithm>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::search {

void Methods::add(std::string name, Space space) {
  if (std::ranges::find(methods_, name, &Method::name) != methods_.end())
    throw core::ConfigError(core::format("two methods have the name '{}': give each a name of its own", name));
  methods_.push_back({std::move(name), std::move(space)});
}

bool Methods::are_compared() const {
  return std::ranges::any_of(methods_, [](const Method& one) { return !one.name.empty(); });
}

bool Methods::has_ranges() const {
  return std::ranges::any_of(methods_, [](const Method& one) { return one.space.has_ranges(); });
}

std::vector<std::string> Methods::varied() const {
  std::vector<std::string> options;
  for (const Method& method : methods_)
    for (std::string& option : method.space.varied())
      if (std::ranges::find(options, option) == options.end()) options.push_back(std::move(option));
  return options;
}

std::vector<Configuration> Methods::configurations(std::size_t draws, std::uint64_t seed) const {
  std::vector<Configuration> all;
  for (const Method& method : methods_)
    for (Values& values : method.space.configurations(draws, seed)) all.push_back({std::move(values), method.name});
  return all;
}

}  // namespace paragrad::search
