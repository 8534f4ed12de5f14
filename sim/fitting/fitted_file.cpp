#include "sim/fitting/fitted_file.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <sstream>
#include <vector>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/toml.hpp"

namespace paragrad::sim::fitting {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

/// A file as lines, in sections.
class Lines {
 public:
  explicit Lines(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      lines_.emplace_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  void put_first(const std::string& line) { lines_.insert(lines_.begin(), line); }

  void add(const std::string& line) { lines_.push_back(line); }

  /// With or without a line for the key.
  void set(std::string_view section, std::string_view key, const std::string& value) {
    const std::string line = core::format("{} = {}", key, value);
    const auto header = std::ranges::find_if(lines_, [&](const std::string& one) { return heads(one, section); });
    if (header == lines_.end()) {
      lines_.insert(lines_.end(), {"", core::format("[{}]", section), line});
      return;
    }
    auto last = header;
    for (auto one = header + 1; one != lines_.end() && !is_header(*one); ++one) {
      if (is_key(*one, key)) {
        *one = line + comment_of(*one);
        return;
      }
      if (!trimmed(*one).empty()) last = one;
    }
    lines_.insert(last + 1, line);
  }

  void remove(std::string_view section) {
    std::vector<std::string> kept;
    bool inside = false;
    for (std::string& line : lines_) {
      if (is_header(line)) inside = heads(line, section) || heads(line, core::format("[{}]", section));
      if (!inside) kept.push_back(std::move(line));
    }
    while (!kept.empty() && trimmed(kept.back()).empty()) kept.pop_back();
    lines_ = std::move(kept);
  }

  std::string text() const { return core::format("{}\n", core::join(lines_, "\n")); }

 private:
  /// And no line of a list of lists.
  static bool is_header(std::string_view line) {
    line = trimmed(line);
    const std::size_t name = line.find_first_not_of('[');
    return name > 0 && name != std::string_view::npos && std::isalpha(static_cast<unsigned char>(line[name])) != 0;
  }
  static bool heads(std::string_view line, std::string_view section) {
    return trimmed(line.substr(0, line.find('#'))) == core::format("[{}]", section);
  }
  static bool is_key(std::string_view line, std::string_view key) {
    const std::size_t equals = line.find('=');
    return equals != std::string_view::npos && trimmed(line.substr(0, equals)) == key;
  }
  /// What was there, and what was said of it.
  static std::string comment_of(std::string_view line) {
    const std::size_t hash = line.find('#');
    const std::string_view value =
        trimmed(line.substr(line.find('=') + 1, hash == std::string_view::npos ? hash : hash - line.find('=') - 1));
    const std::string_view said = hash == std::string_view::npos ? "" : trimmed(line.substr(hash + 1));
    return core::format("  # fitted; before {}{}{}", value, said.empty() ? "" : ": ", said);
  }

  std::vector<std::string> lines_;
};

std::string quoted(const std::string& text) {
  std::ostringstream stream;
  stream << toml::value<std::string>(text);
  return stream.str();
}

std::string percent(double spread) {
  constexpr double most = 10'000;
  return core::format("{:.3g}%", std::clamp(100 * std::expm1(normal_95 * spread), 0.01, most));
}

std::string row_text(const std::vector<double>& row) {
  std::vector<std::string> numbers;
  for (const double number : row) numbers.push_back(core::format("{:.5e}", number));
  return core::format("[{}]", core::join(numbers, ", "));
}

/// What no row depends on stays as it is.
void set(Lines& lines, const Estimate& estimate) {
  if (estimate.rows.empty()) return;
  const Parameter& parameter = *estimate.parameter;
  lines.set(parameter.section, parameter.key,
            core::format("\"{} ± {}\"", value_text(parameter, estimate.value), percent(estimate.spread)));
}

}  // namespace

std::string fitted_file(std::string_view base, const Fit& fit, const std::vector<Platform::Rate>& rates,
                        std::int64_t measurements, const std::string& remark) {
  Lines lines(base);
  for (const char* const section : {"fit", "rate"}) lines.remove(section);
  lines.put_first(core::format("# {}", remark));
  std::vector<std::string> names, covariance, unmeasured;
  std::size_t rate = 0;
  for (std::size_t i = 0; i < fit.estimates.size(); ++i) {
    const Estimate& estimate = fit.estimates[i];
    if (estimate.parameter != nullptr) set(lines, estimate);
    names.push_back(
        core::format("\"{}\"", estimate.parameter != nullptr ? estimate.name : core::format("rate[{}]", rate++)));
    covariance.push_back(row_text(fit.covariance[i]));
    if (!estimate.is_determined) unmeasured.push_back(names.back());
  }
  for (const Platform::Rate& one : rates) {
    lines.add("");
    lines.add("[[rate]]");
    lines.add(core::format("model = {}", quoted(one.model)));
    if (!one.series.empty()) lines.add(core::format("series = {}", quoted(one.series)));
    lines.add(core::format("samples_per_s = {:.6g}", one.samples_per_s));
  }
  lines.add("");
  lines.add("[fit]");
  lines.add(core::format("rows = {}", measurements));
  lines.add(core::format("reach = \"{}\"", name_of(fit.reach)));
  lines.add(core::format("names = [{}]", core::join(names, ", ")));
  lines.add(core::format("unmeasured = [{}]", core::join(unmeasured, ", ")));
  lines.add(core::format("covariance = [{}]", core::join(covariance, ", ")));
  return lines.text();
}

}  // namespace paragrad::sim::fitting
