#include "runs/strategy_source.hpp"

#include <set>

#include "core/format.hpp"
#include "core/join.hpp"
#include "core/json.hpp"

namespace paragrad::runs {
namespace {

std::string given_record, given_model;

core::Json parts_of(const core::Json& record) {
  return record.is_object() ? record.value("parts", core::Json::object()) : core::Json::object();
}

}  // namespace

void set_strategy_source(const std::string& record) { given_record = record; }

core::Json strategy_source() { return given_record.empty() ? core::Json(nullptr) : core::parse_json(given_record); }

void set_model_source(const std::string& record) { given_model = record; }

core::Json model_source() { return given_model.empty() ? core::Json(nullptr) : core::parse_json(given_model); }

std::string changed_parts(const core::Json& manifest) {
  const core::Json now = parts_of(strategy_source()),
                   before = parts_of(manifest.is_object() ? manifest.value("strategy_source", core::Json()) : core::Json());
  std::set<std::string> changed;
  for (const auto& [name, hash] : now.items())
    if (!before.is_object() || before.value(name, core::Json()) != hash) changed.insert(name);
  if (before.is_object())
    for (const auto& [name, _] : before.items())
      if (!now.contains(name)) changed.insert(name);
  return core::format("{}", core::join(changed, ", "));
}

}  // namespace paragrad::runs
