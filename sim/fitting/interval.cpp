#include "sim/fitting/interval.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/numbers.hpp"
#include "core/units.hpp"

namespace paragrad::sim::fitting {
namespace {

constexpr double felt = 0.01;         // what a value adds to the spread of a time, for it to be named
constexpr double step_length = 0.02;  // of a coordinate: times have kinks, and are rounded

/// The derivative of the logarithm of the row's time.
double slope_of(const Platform& platform, const Row& row, double rate, double seconds, const Parameter* parameter) {
  Platform moved = platform;
  if (parameter != nullptr) {
    double& value = *parameter->in(moved);
    const double coordinate = to_coordinate(parameter->scale, std::clamp(value, parameter->least, parameter->most));
    const double most = to_coordinate(parameter->scale, parameter->most);
    const double step = coordinate + step_length > most ? -step_length : step_length;
    value = from_coordinate(parameter->scale, coordinate + step);
    return std::log(row.time(moved, rate).seconds / seconds) / step;
  }
  return std::log(row.time(moved, rate * std::exp(step_length)).seconds / seconds) / step_length;
}

/// "rate[3]" -> 3
std::optional<int> rate_number(const std::string& name) {
  if (!name.starts_with("rate[") || !name.ends_with("]")) return std::nullopt;
  return core::number_of<int>(std::string_view(name).substr(5, name.size() - 6));
}

double product(const std::vector<double>& left, const std::vector<std::vector<double>>& matrix,
               const std::vector<double>& right) {
  double sum = 0;
  for (std::size_t i = 0; i < left.size(); ++i)
    for (std::size_t k = 0; k < right.size(); ++k) sum += left[i] * matrix[i][k] * right[k];
  return sum;
}

/// What the values add to the variance that the row depends on and that the fit does not have, as those of links after a fit
/// to NCCL's times. Adds their names.
double not_fitted(const Platform& platform, const Row& row, double rate, const Timed& timed,
                  std::vector<std::string>& names) {
  double variance = 0;
  for (const Parameter& parameter : parameters()) {
    Platform copy = platform;
    const double* const value = parameter.in(copy);
    if (value == nullptr || *value == 0 || std::ranges::count(platform.fit->names, parameter.name()) > 0 ||
        !depends(row, parameter))
      continue;
    const double share = slope_of(platform, row, rate, timed.seconds, &parameter) * parameter.spread;
    if (std::abs(share) > felt) names.push_back(parameter.name());
    variance += share * share;
  }
  return variance;
}

}  // namespace

double Uncertainty::factor(double of) const { return std::exp(of * spread); }

Uncertainty uncertainty_of(const Platform& platform, const Row& row, double rate) {
  if (!platform.fit) throw core::ConfigError(core::format("the platform '{}' has no section [fit]", platform.name));
  const Platform::Fit& fit = *platform.fit;
  const Timed timed = row.time(platform, rate);
  std::vector<double> slopes;
  Uncertainty result;
  for (std::size_t i = 0; i < fit.names.size(); ++i) {
    const Parameter* const parameter = find_parameter(fit.names[i]);
    const auto number = rate_number(fit.names[i]);
    const bool may_depend = number ? *number == row.rate : depends(row, *parameter);
    slopes.push_back(may_depend ? slope_of(platform, row, rate, timed.seconds, parameter) : 0);
    const double spread = std::sqrt(std::max(0., fit.covariance[i][i]));
    if (std::ranges::count(fit.unmeasured, fit.names[i]) > 0 && std::abs(slopes.back()) * spread > felt)
      result.unmeasured.push_back(fit.names[i]);
  }
  const double variance =
      product(slopes, fit.covariance, slopes) + not_fitted(platform, row, rate, timed, result.unmeasured);
  result.known = std::sqrt(std::max(0., variance));
  result.slopes = std::move(slopes);
  result.timed = timed;
  result.reach = row.reach;
  result.is_beyond = row.reach > reach_named(fit.reach);
  result.spread = std::hypot(result.known, residual.spread(timed, result.is_beyond));
  return result;
}

double spread_after(const Platform& platform, const Uncertainty& uncertainty, const Row& measured, double rate) {
  const Uncertainty other = uncertainty_of(platform, measured, rate);
  const auto& covariance = platform.fit->covariance;
  const double together = product(uncertainty.slopes, covariance, other.slopes), missing = residual.of_measured(other.timed);
  const double gained = together * together / (other.known * other.known + missing * missing);
  const double known = std::sqrt(std::max(0., uncertainty.known * uncertainty.known - gained));
  const bool stays_beyond = uncertainty.is_beyond && measured.reach < uncertainty.reach;
  return std::hypot(known, residual.spread(uncertainty.timed, stays_beyond));
}

std::string interval_text(double seconds, const Uncertainty& uncertainty) {
  const auto between = [&](double of) {
    const double factor = uncertainty.factor(of);
    return core::format("{} to {}", core::format_quantity(seconds / factor, core::Unit::time),
                        core::format_quantity(seconds * factor, core::Unit::time));
  };
  std::string text = core::format("95 %: {}, 80 %: {}", between(student_95), between(student_80));
  if (uncertainty.is_beyond) text += ", across a level of the cluster that no fitted row crosses";
  if (!uncertainty.unmeasured.empty())
    text += core::format("; nobody has measured {}", core::join(uncertainty.unmeasured, ", "));
  return text;
}

}  // namespace paragrad::sim::fitting
