#include "search/search_table.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <string_view>
#include <tuple>

#include "core/format.hpp"
#include "core/json.hpp"
#include "core/printable.hpp"
#include "core/sample.hpp"
#include "core/units.hpp"

namespace paragrad::search {
namespace {

constexpr std::string_view time_measure = "training_s";

using TableRow = std::vector<std::string>;

/// Of an error in percent, of a loss with four digits; "-" if it is unknown.
std::string cell_of(const std::vector<double>& values, bool is_error, Spread spread) {
  const double mean = core::mean_of(values), scale = is_error ? 100 : 1;
  if (std::isnan(mean)) return "-";
  const double around = scale * (spread == Spread::interval ? core::half_width_95(values) : core::deviation_of(values));
  std::string cell = is_error ? core::format("{:.2f}", scale * mean) : core::format("{:.4g}", mean);
  if (!std::isnan(around)) cell += is_error ? core::format(" ± {:.2f}", around) : core::format(" ± {:.2g}", around);
  return is_error ? cell + " %" : cell;
}

std::string quantity_of(const std::vector<double>& values, core::Unit unit) {
  const double mean = core::mean_of(values);
  return std::isnan(mean) ? "-" : core::format_quantity(mean, unit);
}

/// Of the seeds: "refused", "failed (2 of 3)".
std::string remarks_on(const SearchedConfiguration& one) {
  std::string text;
  std::set<std::string> told{""};
  for (const std::string& remark : one.remarks) {
    if (!told.insert(remark).second) continue;
    const auto count = std::ranges::count(one.remarks, remark), all = std::ssize(one.remarks);
    text += (text.empty() ? "" : ", ") + remark + (count < all ? core::format(" ({} of {})", count, all) : "");
  }
  return text;
}

std::string aligned(const std::vector<TableRow>& lines) {
  std::vector<std::size_t> widths(lines[0].size(), 0);
  for (const TableRow& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], core::characters_in(line[i]));
  std::string text;
  for (const TableRow& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i)
      text += std::string(widths[i] - core::characters_in(line[i]) + (i > 0 ? 2 : 0), ' ') + line[i];
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

}  // namespace

double SearchedConfiguration::score() const { return core::mean_of(measures); }
double SearchedConfiguration::test_error() const { return core::mean_of(test_errors); }

void rank(Searched& configurations) {
  std::ranges::stable_sort(configurations, {}, [](const SearchedConfiguration& one) {
    const double score = one.score();
    const bool failed = std::isnan(score);
    return std::tuple(failed, !one.to_the_end, -one.epochs, failed ? 0 : score);
  });
}

Searched best_of_methods(const Searched& ranked) {
  Searched best;
  for (const SearchedConfiguration& one : ranked)
    if (std::ranges::find(best, one.method, &SearchedConfiguration::method) == best.end()) best.push_back(one);
  return best;
}

core::Json search_json(const std::vector<std::string>& options, const std::string& measure, const Searched& configurations) {
  core::Json found = core::Json::array();
  for (const SearchedConfiguration& one : configurations) {
    core::Json values = core::Json::object();
    for (std::size_t i = 0; i < options.size(); ++i)
      if (!one.values[i].empty()) values[options[i]] = one.values[i];
    core::Json line{{"run", one.name},
                    {"options", values},
                    {"epochs", one.epochs},
                    {"to_the_end", one.to_the_end},
                    {measure, one.measures},
                    {"test_error", one.test_errors},
                    {"sent_bytes", one.sent_bytes},
                    {"training_s", one.training_s},
                    {"remarks", one.remarks}};
    if (!one.method.empty()) line["method"] = one.method;
    found.push_back(std::move(line));
  }
  return found;
}

std::string search_table(const std::vector<std::string>& options, const std::string& measure, const Searched& configurations,
                         Spread spread) {
  const auto any = [&](const auto& has) { return std::ranges::any_of(configurations, has); };
  const bool with_methods = any([](const auto&one) { return !one.method.empty(); }),
             with_remarks = any([](const auto&one) { return !remarks_on(one).empty(); });
  std::vector<TableRow> lines{{"run"}};
  if (with_methods) lines[0].push_back("method");
  lines[0].insert(lines[0].end(), options.begin(), options.end());
  const bool by_time = measure == time_measure;  // which is a column of its own
  lines[0].push_back("epochs");
  if (!by_time) lines[0].insert(lines[0].end(), {measure, "test_error"});
  lines[0].insert(lines[0].end(), {"sent", "time"});
  if (with_remarks) lines[0].push_back("remark");
  for (const SearchedConfiguration& one : configurations) {
    TableRow line{one.name};
    if (with_methods) line.push_back(core::printable(one.method));
    for (const std::string& value : one.values) line.push_back(value.empty() ? "-" : core::printable(value));
    line.push_back(core::format("{}", one.epochs));
    if (!by_time)
      line.insert(line.end(),
                  {cell_of(one.measures, measure.ends_with("error"), spread), cell_of(one.test_errors, true, spread)});
    line.insert(line.end(), {quantity_of(one.sent_bytes, core::Unit::bytes), quantity_of(one.training_s, core::Unit::time)});
    if (with_remarks) line.push_back(remarks_on(one));
    lines.push_back(std::move(line));
  }
  return aligned(lines);
}

}  // namespace paragrad::search
