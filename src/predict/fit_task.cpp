#include "predict/fit_task.hpp"

#include <string>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::predict {
namespace {

/// The number of the rate of a row's model, which is new if no row before has it; -1: the row gives it.
int rate_of(const MeasuredRow& row, const sim::Platform& platform, FitTask& task) {
  if (row.training->has_given_rate()) return -1;
  const std::string& model = row.training->model();
  for (std::size_t i = 0; i < task.of_models.size(); ++i)
    if (task.of_models[i].model == model && task.of_models[i].series == row.series) return static_cast<int>(i);
  const std::string name = core::format("rate of {}{}{}", model, row.series.empty() ? "" : " ", row.series);
  double usual = 0;
  for (const sim::Platform::Rate& rate : platform.rates)
    if (rate.model == model && rate.series == row.series) usual = rate.samples_per_s;
  try {
    task.rates.push_back({name, usual > 0 ? usual : row.training->roofline_rate(platform)});
  } catch (const core::ConfigError& error) {
    throw core::ConfigError(core::format("{}: {}", row.where, error.what()));
  }
  task.of_models.push_back({model, row.series, 0});
  return static_cast<int>(task.rates.size()) - 1;
}

}  // namespace

FitTask task_of(const std::vector<MeasuredRow>& measured, const sim::Platform& platform) {
  FitTask task;
  for (const MeasuredRow& row : measured) {
    require_network(row, platform);
    sim::fitting::Row made =
        row.training ? row.training->row(platform, rate_of(row, platform, task)) : row_of_collective(row, platform);
    made.name = core::format("{} {}", row.where, row.what);
    made.measured_s = row.median_s();
    made.fits = row.fits;
    task.rows.push_back(std::move(made));
  }
  return task;
}

}  // namespace paragrad::predict
