#include "runs/comparison.hpp"

#include <algorithm>
#include <array>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/json.hpp"
#include "core/printable.hpp"
#include "core/sample.hpp"
#include "core/units.hpp"

namespace paragrad::runs {
namespace {

using Cells = std::vector<std::string>;
using Runs = std::vector<ComparedRun>;

const Cells titles{"run",  "method",   "NxM",       "epochs",   "valid %", "test %",   "clock",
                   "time", "optimise", "aggregate", "validate", "sent",    "speed-up", "weights"};

/// A number with two decimals and, of several seeds, its deviation; "-" if it is unknown.
std::string rounded(double value, double deviation = NAN) {
  if (!std::isfinite(value)) return "-";
  return std::isfinite(deviation) ? core::format("{:.2f} ± {:.2f}", value, deviation) : core::format("{:.2f}", value);
}

std::string time_of(double seconds, double deviation = NAN) {
  const std::string text = core::format_quantity(seconds, core::Unit::time);
  return std::isfinite(deviation) && seconds > 0 ? core::format("{} ± {:.1f} %", text, 100 * deviation / seconds) : text;
}

/// A human-readable row, with one cell per title.
Cells cells_of(const ComparedRun& run) {
  return {core::printable(run.folder) + (run.seeds > 1 ? core::format(" ({} seeds)", run.seeds) : ""),
          core::printable(run.options.empty() ? run.method : run.method + ", " + run.options),
          core::format("{}x{}", run.splits, run.blocks),
          core::format("{}", run.epochs),
          rounded(100 * run.valid_error, 100 * run.valid_deviation),
          rounded(100 * run.test_error, 100 * run.test_deviation),
          run.clock,
          time_of(run.training_s, run.time_deviation),
          time_of(run.optimise_s),
          time_of(run.aggregate_s),
          time_of(run.validate_s),
          std::isnan(run.sent_bytes) ? "-" : core::format_quantity(run.sent_bytes, core::Unit::bytes),
          rounded(run.speed_up),
          run.hash.empty() ? "-" : core::printable(run.hash.substr(0, 12))};
}

/// A machine-readable record: full precision, seconds, null for unknown values.
core::Json record_of(const ComparedRun& run) {
  const auto number = [](double value) { return std::isfinite(value) ? core::Json(value) : core::Json(nullptr); };
  core::Json record{{"run", run.folder},
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
  if (run.seeds > 0) {
    record["seeds"] = run.seeds;
    record["valid_error_deviation"] = number(run.valid_deviation);
    record["test_error_deviation"] = number(run.test_deviation);
    record["training_s_deviation"] = number(run.time_deviation);
  }
  return record;
}

using Widths = std::array<std::size_t, 14>;

std::string text_line(const Cells& c, const Widths& w) {
  return core::format("{:<{}}  {:<{}} {:>{}} {:>{}}  {:>{}} {:>{}}  {:<{}} {:>{}} {:>{}} {:>{}} {:>{}} {:>{}}  {:>{}}  {}\n",
                      c[0], w[0], c[1], w[1], c[2], w[2], c[3], w[3], c[4], w[4], c[5], w[5], c[6], w[6], c[7], w[7], c[8],
                      w[8], c[9], w[9], c[10], w[10], c[11], w[11], c[12], w[12], c[13]);
}

std::string as_text(const Runs& runs) {
  Widths widths{titles[0].size(), 15, 8, 6, 8, 8, 7, 9, 9, 9, 9, 9, 8, 0};  // or what the longest cell takes
  for (const ComparedRun& run : runs) {
    const Cells cells = cells_of(run);
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], core::characters_in(cells[i]));
  }
  std::string text = text_line(titles, widths);
  for (const ComparedRun& run : runs) text += text_line(cells_of(run), widths);
  return text +
         "sent: bytes per worker, on average\n"
         "speed-up: samples per second relative to the first run with one worker on the same clock\n" +
         (std::ranges::any_of(runs, [](const ComparedRun& run) { return run.seeds > 1; })
              ? "±: standard deviation of a seed; of times in percent\n"
              : "");
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

ComparedRun mean_of(const Runs& runs) {
  ComparedRun mean = runs.at(0);
  mean.seeds = static_cast<int>(runs.size());
  const auto values = [&](double ComparedRun::*member) {
    std::vector<double> all;
    for (const ComparedRun& run : runs) all.push_back(run.*member);
    return all;
  };
  for (double ComparedRun::*member :
       {&ComparedRun::valid_error, &ComparedRun::test_error, &ComparedRun::training_s, &ComparedRun::optimise_s,
        &ComparedRun::aggregate_s, &ComparedRun::validate_s, &ComparedRun::samples_per_s, &ComparedRun::sent_bytes,
        &ComparedRun::received_bytes, &ComparedRun::messages, &ComparedRun::exposed})
    mean.*member = core::mean_of(values(member));
  mean.valid_deviation = core::deviation_of(values(&ComparedRun::valid_error));
  mean.test_deviation = core::deviation_of(values(&ComparedRun::test_error));
  mean.time_deviation = core::deviation_of(values(&ComparedRun::training_s));
  if (runs.size() > 1) mean.hash.clear();
  return mean;
}

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
