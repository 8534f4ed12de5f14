#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "cli/described_options.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/json.hpp"
#include "core/printable.hpp"
#include "core/units.hpp"
#include "predict/explanation.hpp"
#include "predict/fit_task.hpp"
#include "predict/measured_rows.hpp"
#include "sim/fitting/fit.hpp"
#include "sim/fitting/fitted_file.hpp"
#include "system/file_replacement.hpp"
#include "worlds/shared_options.hpp"

namespace paragrad::app {
namespace {

using predict::explain;
using predict::MeasuredRow;
using predict::read_measured_rows;

using sim::fitting::Estimate;
using sim::fitting::Fit;
using sim::fitting::Prediction;

struct FitArguments {
  std::vector<std::string> files;
  std::string platform, out, operation, format = "text";
  std::vector<std::string> healthy;
  bool overwrite = false, leave_one_out = true, explain = false;

  void describe(core::OptionList& list) {
    list.arguments("runs", files, "tables (CSV) of trainings and collectives, or what nccl-tests prints").path().required();
    worlds::describe_platform(list, platform).required();
    const char* const of_fits = "is for a fit, not for `explain`";
    list.text("out", out, "platform file to write, with the fitted values and how sure they are")
        .path()
        .unless(explain, of_fits);
    list.flag("overwrite", overwrite, "replace an existing `out` file").unless(out.empty(), "has no effect without `out`");
    list.text("operation", operation, "which operation nccl-tests measured, if its output does not say so")
        .without_default()
        .known(comm::operation_names());
    list.flag("explain", explain,
              "instead of a fit, say in one sentence why the measurements are slower than they should be");
    list.words("healthy", healthy,
               "files of the same measurements where nothing was wrong, separated by commas (default: rows that name their "
               "hosts are compared with each other, others with the platform)")
        .path()
        .unless(!explain, "is for `explain`");
    list.flag("leave-one-out", leave_one_out, "also predict each row by a fit to all others (of up to 50)")
        .unless(explain, of_fits)
        .off("true");
    list.choice("format", format, {"text", "json"}, "text, or json with full precision")
        .unless(explain, of_fits)
        .off("text");
  }
};

// ---- what is printed

std::string say(const Estimate& estimate, double value) {
  return estimate.parameter != nullptr ? sim::fitting::value_text(*estimate.parameter, value)
                                       : core::format("{:.4g}/s", value);
}

std::string say_rows(const Estimate& estimate, const std::vector<MeasuredRow>& measured) {
  constexpr std::size_t most = 3;
  const std::vector<std::size_t>& rows = estimate.rows;
  if (rows.empty()) return "no row determines this: as in the platform";
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) names.push_back(measured[rows[i]].where);
  return core::format("{}{}{}", estimate.is_determined ? "" : "no row determines this; a little: ", core::join(names, ", "),
                      rows.size() > most ? core::format(" and {} more", rows.size() - most) : "");
}

void print_estimates(const Fit& fit, const std::vector<MeasuredRow>& measured) {
  std::size_t width = 9;
  for (const Estimate& one : fit.estimates) width = std::max(width, one.name.size());
  fmt::print("\n{:<{}} {:>10} {:>10}  {:>22}  determined by\n", "parameter", width, "before", "fitted", "95 %");
  for (const Estimate& one : fit.estimates)
    fmt::print("{:<{}} {:>10} {:>10}  {:>22}  {}\n", core::printable(one.name), width,
               one.parameter != nullptr ? say(one, one.before) : "-", say(one, one.value),
               core::format("{} … {}", say(one, one.low()), say(one, one.high())), say_rows(one, measured));
}

/// A time, or how many samples are trained in it.
std::string say(const MeasuredRow& row, double seconds) {
  if (seconds == 0) return "-";
  return row.training ? core::format("{:.5g}/s", 1 / seconds) : core::format_quantity(seconds, core::Unit::time);
}

std::string say_error(double seconds, double measured_s) {
  return seconds == 0 || measured_s == 0 ? "-" : core::format("{:+.1f} %", 100 * (seconds / measured_s - 1));
}

void print_rows(const Fit& fit, const std::vector<MeasuredRow>& measured) {
  std::size_t width = 4;
  for (const MeasuredRow& row : measured) width = std::max(width, row.where.size() + 1 + row.what.size());
  fmt::print("\n{:<{}} {:>11} {:>11} {:>25} {:>9} {:>11}\n", "row", width, "measured", "predicted", "95 %", "time",
             "without it");
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const MeasuredRow& row = measured[i];
    const Prediction& one = fit.predictions[i];
    const double factor = std::exp(sim::fitting::student_95 * one.spread);
    const double low = row.training ? one.seconds * factor : one.seconds / factor;
    fmt::print("{:<{}} {:>11} {:>11} {:>25} {:>9} {:>11}\n", core::format("{} {}", row.where, core::printable(row.what)),
               width, say(row, row.median_s()), say(row, one.seconds),
               core::format("{} … {}", say(row, low), say(row, one.seconds * one.seconds / low)),
               say_error(one.seconds, row.median_s()), say_error(one.left_out_s, row.median_s()));
    if (!row.fits && one.is_beyond && !one.unmeasured.empty())
      fmt::print("  nobody has measured {}\n", core::join(one.unmeasured, ", "));
  }
}

core::Json json_of(const Fit& fit, const std::vector<MeasuredRow>& measured) {
  core::Json json = {
      {"reach", name_of(fit.reach)}, {"runs", fit.runs}, {"parameters", core::Json::array()}, {"rows", core::Json::array()}};
  for (const Estimate& one : fit.estimates) {
    core::Json determined_by = core::Json::array();
    for (const std::size_t row : one.rows) determined_by.push_back(measured[row].where);
    json["parameters"].push_back({{"name", one.name},
                                  {"before", one.before},
                                  {"value", one.value},
                                  {"low", one.low()},
                                  {"high", one.high()},
                                  {"is_determined", one.is_determined},
                                  {"rows", determined_by}});
  }
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const Prediction& one = fit.predictions[i];
    json["rows"].push_back({{"row", measured[i].where},
                            {"what", measured[i].what},
                            {"fitted", measured[i].fits},
                            {"measured_s", measured[i].median_s()},
                            {"predicted_s", one.seconds},
                            {"spread", one.spread},
                            {"known", one.known},
                            {"exchange", one.exchange},
                            {"beyond", one.is_beyond},
                            {"left_out_s", one.left_out_s},
                            {"unmeasured", one.unmeasured}});
  }
  return json;
}

void note_repetitions(const std::vector<MeasuredRow>& measured) {
  constexpr double far = 1.5;
  for (const MeasuredRow& row : measured)
    if (row.times_s.size() > 1) {
      const double factor = row.times_s.back() / row.times_s.front();
      fmt::print("{}: {} measurements of {} differ by a factor of {:.2f}, and their median counts{}\n", row.where,
                 row.times_s.size(), core::printable(row.what), factor, factor > far ? ": they contradict each other" : "");
    }
}

/// Writes the platform with the fitted values, if it reads as such.
void write_platform(const FitArguments& arguments, const sim::Platform& platform, const Fit& fit,
                    std::vector<sim::Platform::Rate> rates, std::int64_t measurements) {
  for (const sim::Platform::Rate& other : platform.rates) {
    const auto is_fitted = [&](const sim::Platform::Rate& one) {
      return one.model == other.model && one.series == other.series;
    };
    if (std::ranges::none_of(rates, is_fitted)) rates.push_back(other);
  }
  const std::string remark = core::format("Fitted by `paragrad fit` to {} measurements ({}), from the platform {}.",
                                          measurements, core::join(arguments.files, ", "), platform.name);
  const std::string base = sim::platform_source(arguments.platform);
  system::FileReplacement file(arguments.out);
  file.write(sim::fitting::fitted_file(base, fit, rates, measurements, core::printable(remark)));
  constexpr double rounding = 1e-3;
  sim::Platform written = sim::read_platform(file.temporary_path());
  for (const Estimate& one : fit.estimates) {
    if (one.parameter == nullptr || one.rows.empty()) continue;
    if (std::abs(*one.parameter->in(written) / one.value - 1) > rounding)
      throw core::ConfigError(
          core::format("'{}' writes its sections in a form in which {} cannot be replaced: write [{}] and "
                       "its keys on lines of their own",
                       core::printable(arguments.platform), one.name, one.parameter->section));
  }
  file.commit();
}

int run(FitArguments& arguments, const CLI::App&) {
  if (!arguments.operation.empty()) comm::parse_operation(arguments.operation);
  if (!arguments.out.empty() && !arguments.overwrite && std::filesystem::exists(arguments.out))
    throw core::ConfigError(
        core::format("'{}' exists: choose another --out, or give --overwrite", core::printable(arguments.out)));
  const sim::Platform platform = sim::read_platform(arguments.platform);
  const std::vector<MeasuredRow> measured = read_measured_rows(arguments.files, arguments.operation);
  if (arguments.explain) {
    const auto healthy = read_measured_rows(arguments.healthy, arguments.operation);
    fmt::print("{}\n", explain(measured, healthy, platform));
    return cli::success;
  }
  predict::FitTask task = predict::task_of(measured, platform);
  const Fit fit = sim::fitting::fit(platform, task.rows, task.rates, arguments.leave_one_out);
  for (std::size_t i = 0; i < task.of_models.size(); ++i) task.of_models[i].samples_per_s = fit.rates[i];
  std::int64_t fitted = 0;
  for (const MeasuredRow& row : measured) fitted += row.fits ? static_cast<std::int64_t>(row.times_s.size()) : 0;
  if (arguments.format == "json") {
    fmt::print("{}\n", core::text_of(json_of(fit, measured), 2));
  } else {
    if (platform.fit)
      fmt::print(
          "'{}' is itself fitted to {} measurements: give those of other runs only, and their values count as known\n",
          core::printable(platform.name), platform.fit->rows);
    note_repetitions(measured);
    print_estimates(fit, measured);
    print_rows(fit, measured);
  }
  if (arguments.out.empty()) return cli::success;
  write_platform(arguments, platform, fit, task.of_models, fitted);
  if (arguments.format == "text") fmt::print("\nplatform file {}\n", core::printable(arguments.out));
  return cli::success;
}

}  // namespace

cli::Command fit_command() {
  return cli::command_of<FitArguments>(
      {.name = "fit",
       .description = "Fit a platform to what was measured on a cluster, and say how sure its predictions are.\n"
                      "A table has a row of names, and a row for each training: model, workers, minibatch (or "
                      "minibatch-per-worker), samples_per_s or s_per_step, and any option of `simulate`; or for each "
                      "collective: operation, collective, workers, bytes and time. The column use says fit or predict.",
       .examples =
           "printf 'model,workers,minibatch-per-worker,samples_per_s\\nzoo:resnet50,1,64,219\\nzoo:resnet50,8,64,1650\\n' > "
           "measured.csv\n"
           "paragrad fit measured.csv --platform p100-edr-nvlink --out fitted.toml"},
      [](FitArguments& arguments, const CLI::App& parser) { return run(arguments, parser); });
}

}  // namespace paragrad::app
