#include "runs/comparison.hpp"

#include <algorithm>
#include <array>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/json.hpp"
#include "core/printable.hpp"
#include "core/units.hpp"

namespace paragrad::runs {
namespace {

using Cells = std::vector<std::string>;
using Runs = std::vector<ComparedRun>;

const Cells titles{"run",  "method",   "NxM",       "epochs",   "valid %", "test %",   "clock",
                   "time", "optimise", "aggregate", "validate", "sent",    "speed-up", "weights"};

/// A human-readable row, with one cell per title.
Cells cells_of(const ComparedRun& run) {
  const auto rounded = [](double value) { return std::isfinite(value) ? core::format("{:.2f}", value) : "-"; };
  const auto time = [](double seconds) { return core::format_quantity(seconds, core::Unit::time); };
  return {core::printable(run.folder),
          core::printable(run.options.empty() ? run.method : run.method + ", " + run.options),
          core::format("{}x{}", run.splits, run.blocks),
          core::format("{}", run.epochs),
          rounded(100 * run.valid_error),
          rounded(100 * run.test_error),
          run.clock,
          time(run.training_s),
          time(run.optimise_s),
          time(run.aggregate_s),
          time(run.validate_s),
          std::isnan(run.sent_bytes) ? "-" : core::format_quantity(run.sent_bytes, core::Unit::bytes),
          rounded(run.speed_up),
          run.hash.empty() ? "-" : core::printable(run.hash.substr(0, 12))};
}

/// A machine-readable record: full precision, seconds, null for unknown values.
core::Json record_of(const ComparedRun& run) {
  const auto number = [](double value) { return std::isfinite(value) ? core::Json(value) : core::Json(nullptr); };
  return {{"run", run.folder},
          {"method", run.method},
          {"options", run.options},
          {"splits", run.splits},
          {"blocks", run.blocks},
          {"workers", run.workers},
          {"epochs", run.epochs},
          {"valid_error", number(run.valid_error)},
          {"test_error", number(run.test_error)},
          {"clock", run.clock},
          {"training_s", number(run.training_s)},
          {"optimise_s", number(run.optimise_s)},
          {"aggregate_s", number(run.aggregate_s)},
          {"validate_s", number(run.validate_s)},
          {"exposed", number(run.exposed)},
          {"messages", number(run.messages)},
          {"sent_bytes", number(run.sent_bytes)},
          {"received_bytes", number(run.received_bytes)},
          {"samples_per_s", number(run.samples_per_s)},
          {"speed_up", number(run.speed_up)},
          {"parameters_sha256", run.hash.empty() ? core::Json(nullptr) : core::Json(run.hash)}};
}

/// widths: of the first two cells.
std::string text_line(const Cells& c, const std::array<std::size_t, 2>& widths) {
  return core::format("{:<{}}  {:<{}} {:>8} {:>6}  {:>8} {:>8}  {:<7} {:>9} {:>9} {:>9} {:>9} {:>9}  {:>8}  {}\n", c[0],
                      widths[0], c[1], widths[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], c[9], c[10], c[11], c[12],
                      c[13]);
}

std::string as_text(const Runs& runs) {
  std::array<std::size_t, 2> widths{titles[0].size(), 15};
  for (const ComparedRun& run : runs) {
    const Cells cells = cells_of(run);
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
  }
  std::string text = text_line(titles, widths);
  for (const ComparedRun& run : runs) text += text_line(cells_of(run), widths);
  return text +
         "sent: bytes per worker, on average\n"
         "speed-up: samples per second relative to the first run with one worker on the same clock\n";
}

/// Escapes characters that would start a link, code, emphasis or HTML, or end a cell.
std::string markdown_line(const Cells& cells) {
  constexpr std::string_view special = "\\`*[]<>|&";
  std::string line = "|";
  for (const std::string& cell : cells) {
    line += ' ';
    for (const char c : cell) {
      if (special.find(c) != std::string_view::npos) line += '\\';
      line += c;
    }
    line += " |";
  }
  return line + "\n";
}

std::string as_markdown(const Runs& runs) {
  std::string text = markdown_line(titles) + markdown_line(Cells(titles.size(), "---"));
  for (const ComparedRun& run : runs) text += markdown_line(cells_of(run));
  return text;
}

std::string as_json(const Runs& runs) {
  core::Json records = core::Json::array();
  for (const ComparedRun& run : runs) records.push_back(record_of(run));
  return core::text_of(records, 1) + "\n";
}

/// RFC 4180, but with line feeds only.
std::string csv_cell(const core::Json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return core::text_of(value);
  const auto text = value.get<std::string>();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string as_csv(const Runs& runs) {
  std::string text;
  for (const ComparedRun& run : runs) {
    const core::Json record = record_of(run);
    Cells keys, cells;
    for (const auto& [key, value] : record.items()) {
      keys.push_back(key);
      cells.push_back(csv_cell(value));
    }
    if (text.empty()) text = core::format("{}\n", core::join(keys, ","));
    text += core::format("{}\n", core::join(cells, ","));
  }
  return text;
}

struct Format {
  const char* name;
  std::string (*write)(const Runs&);
};

constexpr Format formats[] = {{"text", as_text}, {"csv", as_csv}, {"json", as_json}, {"markdown", as_markdown}};

}  // namespace

std::vector<std::string> comparison_formats() {
  std::vector<std::string> names;
  for (const Format& format : formats) names.push_back(format.name);
  return names;
}

std::string comparison(const Runs& runs, const std::string& format) {
  for (const Format& known : formats)
    if (known.name == format) return known.write(runs);
  throw core::unknown_name("format", format, comparison_formats());
}

}  // namespace paragrad::runs
