#include "sim/fitting/fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::sim::fitting {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double of_rate = 2;  // spread of a rate that nothing was measured of: a factor of 7

/// One unknown of the fit.
struct Unknown {
  const Parameter* parameter;  // null: rate number `rate`
  int rate;
  double before, spread, least, most;  // coordinates
};

class Problem {
 public:
  Problem(const Platform& platform, const std::vector<Row>& rows, const std::vector<Rate>& rates)
      : platform_(platform), rows_(rows) {
    for (const Row& row : rows) reach_ = row.fits ? std::max(reach_, row.reach) : reach_;
    for (const Parameter& parameter : parameters())
      if (matters(parameter)) add(parameter);
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const double usual = std::log(rates[i].usual);
      unknowns_.push_back({nullptr, static_cast<int>(i), usual, of_rate, usual - 12, usual + 12});
    }
    rates_ = rates.size();
  }

  const std::vector<Unknown>& unknowns() const { return unknowns_; }
  Reach reach() const { return reach_; }
  int runs() const { return runs_; }

  VectorXd before() const {
    VectorXd x(unknowns_.size());
    for (std::size_t i = 0; i < unknowns_.size(); ++i) x[static_cast<Eigen::Index>(i)] = unknowns_[i].before;
    return x;
  }

  Platform platform_at(const VectorXd& x) const {
    Platform platform = platform_;
    for (std::size_t i = 0; i < unknowns_.size(); ++i)
      if (const Parameter* const parameter = unknowns_[i].parameter)
        *parameter->in(platform) = from_coordinate(parameter->scale, x[static_cast<Eigen::Index>(i)]);
    return platform;
  }
  std::vector<double> rates_at(const VectorXd& x) const {
    std::vector<double> rates(rates_);
    for (std::size_t i = 0; i < unknowns_.size(); ++i)
      if (unknowns_[i].rate >= 0)
        rates[static_cast<std::size_t>(unknowns_[i].rate)] = std::exp(x[static_cast<Eigen::Index>(i)]);
    return rates;
  }

  Timed time(std::size_t row, const VectorXd& x) {
    ++runs_;
    const Row& one = rows_[row];
    const Timed timed = one.time(platform_at(x), one.rate < 0 ? 0 : rates_at(x)[static_cast<std::size_t>(one.rate)]);
    if (!(timed.seconds > 0) || !std::isfinite(timed.seconds))
      throw core::ConfigError(core::format("{}: its predicted time is {} s, which no measurement can be compared with",
                                           one.name, timed.seconds));
    return timed;
  }

  /// Derivatives of the logarithm of a row's time.
  VectorXd slopes(std::size_t row, const VectorXd& x, double seconds) {
    VectorXd slopes = VectorXd::Zero(x.size());
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      const Unknown& unknown = unknowns_[static_cast<std::size_t>(i)];
      if (!may_depend(rows_[row], unknown)) continue;
      const double step = x[i] + step_length > unknown.most ? -step_length : step_length;
      VectorXd moved = x;
      moved[i] += step;
      slopes[i] = std::log(time(row, moved).seconds / seconds) / step;
    }
    return slopes;
  }

  VectorXd clamped(VectorXd x) const {
    for (Eigen::Index i = 0; i < x.size(); ++i)
      x[i] = std::clamp(x[i], unknowns_[static_cast<std::size_t>(i)].least, unknowns_[static_cast<std::size_t>(i)].most);
    return x;
  }

 private:
  static constexpr double step_length = 0.02;  // of a coordinate: times have kinks, and are rounded

  bool matters(const Parameter& parameter) const {
    Platform copy = platform_;
    if (parameter.in(copy) == nullptr) return false;
    const bool has_network = platform_.leaf.bytes_per_s > 0;
    return std::ranges::any_of(rows_, [&](Row row) {  // whether a row like it on more workers could depend on it
      for (const Reach reach : {Reach::node, Reach::network}) {
        row.reach = reach;
        if ((has_network || reach == Reach::node) && depends(row, parameter)) return true;
      }
      return false;
    });
  }
  static bool may_depend(const Row& row, const Unknown& unknown) {
    return unknown.parameter == nullptr ? unknown.rate == row.rate : depends(row, *unknown.parameter);
  }

  void add(const Parameter& parameter) {
    const double value = *parameter.in(platform_);
    const bool is_stated = parameter.usual == 0 || platform_.stated.contains(parameter.name());
    const double before = is_stated ? std::clamp(value, parameter.least, parameter.most) : parameter.usual;
    const auto given = platform_.spreads.find(parameter.name());
    unknowns_.push_back({&parameter, -1, to_coordinate(parameter.scale, before),
                         given != platform_.spreads.end() ? given->second : parameter.spread,
                         to_coordinate(parameter.scale, parameter.least), to_coordinate(parameter.scale, parameter.most)});
  }

  Platform platform_;
  const std::vector<Row>& rows_;
  std::vector<Unknown> unknowns_;
  std::size_t rates_ = 0;
  Reach reach_ = Reach::device;
  int runs_ = 0;
};

/// The rows at one point: what is predicted of each, and how it depends on the unknowns.
struct Point {
  VectorXd x;
  std::vector<Timed> timed{};  // of each fitted row
  std::vector<VectorXd> slopes{};
  double cost = 0;
};

class Solver {
 public:
  Solver(Problem& problem, const std::vector<Row>& rows, std::vector<std::size_t> fitted)
      : problem_(problem), rows_(rows), fitted_(std::move(fitted)) {}

  /// From `start` to the least sum of squares.
  Point solve(const VectorXd& start) {
    constexpr int most_steps = 40;
    constexpr double small = 1e-4;
    weigh(start);
    Point best = at(start);
    derive(best);
    double damping = 1e-2;
    for (int step = 0; step < most_steps; ++step) {
      const MatrixXd normal = precision(best);
      MatrixXd damped = normal;
      damped.diagonal() *= 1 + damping;
      const VectorXd move = damped.ldlt().solve(-gradient(best));
      Point next = at(problem_.clamped(best.x + move.cwiseMax(-1.5).cwiseMin(1.5)));
      const double gain = best.cost - next.cost;
      if (gain > 0) {
        derive(next);
        best = std::move(next);
        damping = std::max(damping / 5, 1e-6);
        if (gain < small) break;
      } else if ((damping *= 6) > 1e5) {
        break;
      }
    }
    return best;
  }

  /// The inverse of the covariance of the coordinates.
  MatrixXd precision(const Point& point) const {
    MatrixXd sum = MatrixXd::Zero(point.x.size(), point.x.size());
    for (Eigen::Index i = 0; i < point.x.size(); ++i) sum(i, i) = 1 / square(spread_of(i));
    for (std::size_t i = 0; i < fitted_.size(); ++i)
      sum += point.slopes[i] * point.slopes[i].transpose() / square(deviations_[i]);
    return sum;
  }

  double deviation(std::size_t i) const { return deviations_[i]; }

 private:
  static double square(double x) { return x * x; }
  double spread_of(Eigen::Index i) const { return problem_.unknowns()[static_cast<std::size_t>(i)].spread; }
  double before(Eigen::Index i) const { return problem_.unknowns()[static_cast<std::size_t>(i)].before; }
  double error(const Point& point, std::size_t i) const {
    return std::log(point.timed[i].seconds / rows_[fitted_[i]].measured_s);
  }

  void weigh(const VectorXd& x) {
    deviations_.clear();
    for (const std::size_t row : fitted_) deviations_.push_back(residual.of_measured(problem_.time(row, x)));
  }

  Point at(const VectorXd& x) {
    Point point{.x = x};
    for (Eigen::Index i = 0; i < x.size(); ++i) point.cost += square((x[i] - before(i)) / spread_of(i));
    for (std::size_t i = 0; i < fitted_.size(); ++i) {
      point.timed.push_back(problem_.time(fitted_[i], x));
      point.cost += square(error(point, i) / deviations_[i]);
    }
    return point;
  }
  void derive(Point& point) {
    for (std::size_t i = 0; i < fitted_.size(); ++i)
      point.slopes.push_back(problem_.slopes(fitted_[i], point.x, point.timed[i].seconds));
  }
  VectorXd gradient(const Point& point) const {
    VectorXd sum(point.x.size());
    for (Eigen::Index i = 0; i < sum.size(); ++i) sum[i] = (point.x[i] - before(i)) / square(spread_of(i));
    for (std::size_t i = 0; i < fitted_.size(); ++i) sum += point.slopes[i] * error(point, i) / square(deviations_[i]);
    return sum;
  }

  Problem& problem_;
  const std::vector<Row>& rows_;
  std::vector<std::size_t> fitted_;
  std::vector<double> deviations_;
};

constexpr double determined = 0.8;         // of its spread before: what is known no better than this is not determined
constexpr double weak = 0.25;              // of the spread before: what a row alone says of a coordinate is not mentioned
constexpr std::size_t most_left_out = 50;  // rows: each takes a fit of its own

/// The rows that depend on a coordinate, the most informative first; those that say little only if no other does.
std::vector<std::size_t> informative(const Solver& solver, const Point& point, const std::vector<std::size_t>& fitted,
                                     Eigen::Index i, double spread) {
  std::vector<std::pair<double, std::size_t>> found;
  for (std::size_t row = 0; row < fitted.size(); ++row)
    if (const double said = std::abs(point.slopes[row][i]) * spread / solver.deviation(row); said > 0)
      found.emplace_back(-said, fitted[row]);
  std::ranges::sort(found);
  std::vector<std::size_t> rows;
  for (const auto& [said, row] : found)
    if (rows.empty() || -said > weak) rows.push_back(row);
  return rows;
}

}  // namespace

bool depends(const Row& row, const Parameter& parameter) {
  if (parameter.section == "program") return row.trains && (parameter.key == "step_cost" || row.reach > Reach::device);
  if (row.reach == Reach::device || row.by_nccl != (parameter.section == "nccl")) return false;
  if (parameter.between_nodes) return row.reach == Reach::network;
  return !row.by_nccl || row.reach == Reach::node;
}

double Estimate::low() const {
  const Scale scale = parameter != nullptr ? parameter->scale : Scale::logarithm;
  return from_coordinate(scale, to_coordinate(scale, value) - normal_95 * spread);
}
double Estimate::high() const {
  const Scale scale = parameter != nullptr ? parameter->scale : Scale::logarithm;
  return from_coordinate(scale, to_coordinate(scale, value) + normal_95 * spread);
}

Fit fit(const Platform& platform, const std::vector<Row>& rows, const std::vector<Rate>& rates, bool leave_one_out) {
  std::vector<std::size_t> fitted;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].fits) fitted.push_back(i);
  if (fitted.empty()) throw core::ConfigError("there is no row to fit");
  Problem problem(platform, rows, rates);
  Solver solver(problem, rows, fitted);
  const Point best = solver.solve(problem.before());
  const MatrixXd covariance = solver.precision(best).inverse();

  Fit result{.platform = problem.platform_at(best.x), .rates = problem.rates_at(best.x), .reach = problem.reach()};
  if (platform.fit) result.reach = std::max(result.reach, reach_named(platform.fit->reach));
  for (Eigen::Index i = 0; i < best.x.size(); ++i) {
    const Unknown& unknown = problem.unknowns()[static_cast<std::size_t>(i)];
    const Scale scale = unknown.parameter != nullptr ? unknown.parameter->scale : Scale::logarithm;
    Estimate estimate{.name = unknown.parameter != nullptr ? unknown.parameter->name()
                                                           : rates[static_cast<std::size_t>(unknown.rate)].name,
                      .parameter = unknown.parameter,
                      .before = from_coordinate(scale, unknown.before),
                      .value = from_coordinate(scale, best.x[i]),
                      .spread_before = unknown.spread,
                      .spread = std::sqrt(covariance(i, i))};
    estimate.is_determined = estimate.spread < determined * estimate.spread_before;
    estimate.rows = informative(solver, best, fitted, i, estimate.spread_before);
    result.estimates.push_back(std::move(estimate));
    result.covariance.emplace_back(covariance.row(i).begin(), covariance.row(i).end());
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Timed timed = problem.time(i, best.x);
    const VectorXd slopes = problem.slopes(i, best.x, timed.seconds);
    Prediction prediction{.seconds = timed.seconds, .exchange = timed.exchange, .is_beyond = rows[i].reach > result.reach};
    const double known = slopes.dot(covariance * slopes), missing = residual.spread(timed, prediction.is_beyond);
    prediction.known = std::sqrt(known);
    prediction.spread = std::sqrt(known + missing * missing);
    for (std::size_t k = 0; k < result.estimates.size(); ++k)
      if (!result.estimates[k].is_determined &&
          std::abs(slopes[static_cast<Eigen::Index>(k)]) * result.estimates[k].spread > 0.01)
        prediction.unmeasured.push_back(result.estimates[k].name);
    if (leave_one_out && rows[i].fits && fitted.size() > 1 && fitted.size() <= most_left_out) {
      std::vector<std::size_t> others = fitted;
      std::erase(others, i);
      prediction.left_out_s = problem.time(i, Solver(problem, rows, others).solve(best.x).x).seconds;
    }
    result.predictions.push_back(std::move(prediction));
  }
  result.runs = problem.runs();
  return result;
}

}  // namespace paragrad::sim::fitting
