#include "data/targets.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::data {
namespace {

/// "seven/2" is state 2 of "seven"; anything else is state 0 of itself.
std::pair<std::string, std::size_t> token_and_state(const std::string& name) {
  const std::size_t stroke = name.rfind('/');
  std::size_t state = 0;
  if (stroke == std::string::npos || stroke == 0) return {name, 0};
  const char *digits = name.data() + stroke + 1, *end = name.data() + name.size();
  if (std::from_chars(digits, end, state).ec != std::errc{}) return {name, 0};
  return {name.substr(0, stroke), state};
}

}  // namespace

Tokens::Tokens(const DatasetInfo& info) {
  for (std::size_t k = 0; k < info.classes; ++k) {
    const auto [token, state] =
        info.class_names.empty() ? std::pair(core::format("{}", k), std::size_t{0}) : token_and_state(info.class_names[k]);
    if (names_.empty() || names_.back() != token) names_.push_back(token);
    of_class_.push_back({static_cast<std::int32_t>(names_.size() - 1), state});
  }
}

std::vector<std::int32_t> Tokens::in(std::span<const std::int32_t> labels) const {
  std::vector<std::int32_t> tokens;
  const State* before = nullptr;
  for (const std::int32_t label : labels) {
    const State& now = of_class_.at(static_cast<std::size_t>(label));
    if (before == nullptr || now.token != before->token || now.number < before->number) tokens.push_back(now.token);
    before = &now;
  }
  return tokens;
}

Targets::Targets(const Dataset& dataset, Subset subset, const Tokens& tokens) {
  const auto offsets = dataset.offsets(subset);
  const auto names = dataset.utterances(subset);
  std::vector<std::int32_t> labels;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    labels.clear();
    for (std::int64_t row = offsets[s]; row < offsets[s + 1]; ++row)
      labels.push_back(dataset.label(subset, static_cast<std::size_t>(row)));
    const std::vector<std::int32_t> said = tokens.in(labels);
    std::size_t repeats = 0;
    for (std::size_t i = 1; i < said.size(); ++i) repeats += said[i] == said[i - 1];
    if (labels.size() < said.size() + repeats)
      throw core::ConfigError(core::format(
          "sequence {} of '{}' ({}) has {} frames for {} tokens, {} of them like the one before, which ctc cannot "
          "tell apart in less than {}: leave it out",
          names.empty() ? core::format("{}", s) : core::format("'{}'", names[s]), dataset.info().path,
          subset_names[static_cast<std::size_t>(subset)], labels.size(), said.size(), repeats, said.size() + repeats));
    all_.insert(all_.end(), said.begin(), said.end());
    starts_.push_back(all_.size());
  }
}

std::size_t Targets::count(std::size_t first) const { return starts_[std::min(first, starts_.size() - 1)]; }

double Targets::mean() const {
  return all_.empty() ? 1 : static_cast<double>(all_.size()) / static_cast<double>(starts_.size() - 1);
}

}  // namespace paragrad::data
