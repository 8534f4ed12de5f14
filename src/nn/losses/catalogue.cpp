#include <vector>

#include "nn/losses/loss_entry.hpp"

namespace paragrad::nn {
namespace {

const std::vector<LossEntry>& losses() {
  static const std::vector<LossEntry> entries{
#define LOSS(name) name##_loss(),
#include "nn/losses/catalogue.def"
#undef LOSS
  };
  return entries;
}

}  // namespace

const LossEntry& loss_entry(std::string_view name) { return core::find_entry("loss", name, losses()); }

std::unique_ptr<const Loss> make_loss(std::string_view name, const core::Settings& settings) {
  const LossEntry& entry = loss_entry(name);
  core::check_settings(entry.info, "loss", settings);
  return entry.make(settings);
}

std::string loss_of_scores(std::string_view name) {
  const LossEntry& entry = loss_entry(name);
  return entry.scored_by.empty() ? entry.info.name : entry.scored_by;
}

core::CatalogueInfo loss_catalogue() { return core::info_of("loss", "losses", losses()); }

}  // namespace paragrad::nn
