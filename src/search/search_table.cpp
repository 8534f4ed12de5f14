#include "search/search_table.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <set>
#include <tuple>

#include "core/format.hpp"
#include "core/json.hpp"
#include "core/printable.hpp"

namespace paragrad::search {
namespace {

using TableRow = std::vector<std::string>;

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Of an error in percent, of a loss with four digits; "-" if it is unknown.
std::string cell_of(const std::vector<double>& values, bool is_error) {
  const double mean = mean_of(values), scale = is_error ? 100 : 1;
  if (std::isnan(mean)) return "-";
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  std::string cell = is_error ? core::format("{:.2f}", scale * mean) : core::format("{:.4g}", mean);
  if (values.size() > 1) {
    const double deviation = scale * std::sqrt(squares / static_cast<double>(values.size() - 1));
    cell += is_error ? core::format(" ± {:.2f}", deviation) : core::format(" ± {:.2g}", deviation);
  }
  return is_error ? cell + " %" : cell;
}

/// Characters of UTF-8.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](unsigned char c) { return (c & 0xc0) != 0x80; }));
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
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width_of(line[i]));
  std::string text;
  for (const TableRow& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i)
      text += std::string(widths[i] - width_of(line[i]) + (i > 0 ? 2 : 0), ' ') + line[i];
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

}  // namespace

double SearchedConfiguration::score() const { return mean_of(measures); }
double SearchedConfiguration::test_error() const { return mean_of(test_errors); }

void rank(std::vector<SearchedConfiguration>& configurations) {
  std::ranges::stable_sort(configurations, {}, [](const SearchedConfiguration& one) {
    const double score = one.score();
    const bool failed = std::isnan(score);
    return std::tuple(failed, !one.to_the_end, -one.epochs, failed ? 0 : score);
  });
}

core::Json search_json(const std::vector<std::string>& options, const std::string& measure,
                       const std::vector<SearchedConfiguration>& configurations) {
  core::Json found = core::Json::array();
  for (const SearchedConfiguration& one : configurations) {
    core::Json values = core::Json::object();
    for (std::size_t i = 0; i < options.size(); ++i) values[options[i]] = one.values[i];
    found.push_back({{"run", one.name},
                     {"options", values},
                     {"epochs", one.epochs},
                     {"to_the_end", one.to_the_end},
                     {measure, one.measures},
                     {"test_error", one.test_errors},
                     {"remarks", one.remarks}});
  }
  return found;
}

std::string search_table(const std::vector<std::string>& options, const std::string& measure,
                         const std::vector<SearchedConfiguration>& configurations) {
  const bool with_remarks = std::ranges::any_of(configurations, [](const auto& one) { return !remarks_on(one).empty(); });
  std::vector<TableRow> lines{{"run"}};
  lines[0].insert(lines[0].end(), options.begin(), options.end());
  lines[0].insert(lines[0].end(), {"epochs", measure, "test_error"});
  if (with_remarks) lines[0].push_back("remark");
  for (const SearchedConfiguration& one : configurations) {
    TableRow line{one.name};
    for (const std::string& value : one.values) line.push_back(core::printable(value));
    line.insert(line.end(), {core::format("{}", one.epochs), cell_of(one.measures, measure.ends_with("error")),
                             cell_of(one.test_errors, true)});
    if (with_remarks) line.push_back(remarks_on(one));
    lines.push_back(std::move(line));
  }
  return aligned(lines);
}

}  // namespace paragrad::search
