#include "runs/foreign_sources.hpp"

#include <set>

#include "core/format.hpp"
#include "core/join.hpp"
#include "core/json.hpp"

namespace paragrad::runs {
namespace {

std::map<std::string, std::string> given_records;

core::Json parts_of(const core::Json& record) {
  return record.is_object() ? record.value("parts", core::Json::object()) : core::Json::object();
}

}  // namespace

void set_foreign_sources(const std::map<std::string, std::string>& records) { given_records = records; }

core::Json foreign_sources() {
  core::Json sources = core::Json::object();
  for (const auto& [key, record] : given_records) sources[key] = core::parse_json(record);
  return sources;
}

std::string changed_parts(const core::Json& manifest) {
  const auto strategy_in = [](const core::Json& sources) {
    return parts_of(sources.is_object() ? sources.value("strategy_source", core::Json()) : core::Json());
  };
  const core::Json now = strategy_in(foreign_sources()), before = strategy_in(manifest);
  std::set<std::string> changed;
  for (const auto& [name, hash] : now.items())
    if (!before.is_object() || before.value(name, core::Json()) != hash) changed.insert(name);
  if (before.is_object())
    for (const auto& [name, _] : before.items())
      if (!now.contains(name)) changed.insert(name);
  return core::format("{}", core::join(changed, ", "));
}

}  // namespace paragrad::runs
