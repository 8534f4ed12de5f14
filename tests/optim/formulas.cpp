#include "formulas.hpp"

#include <cmath>
#include <map>
#include <span>

namespace paragrad::optim::testing {
namespace {

// One parameter's way by Adam's formulas, in double: learning rate and gradient of the minibatch's mean.
double adam(double w, std::size_t i, double decay, bool decoupled) {
  double m = 0, v = 0;
  const double lambda = decay / samples;
  for (int step = 0; step < steps; ++step) {
    const double alpha = samples * step_of(step).rate;
    const double mean = gradient_of(step, i) / samples + (decoupled ? 0 : lambda * w);
    m = 0.9 * m + (1 - 0.9) * mean;
    v = 0.999 * v + (1 - 0.999) * mean * mean;
    const double m_hat = m / (1 - std::pow(0.9, step + 1)), v_hat = v / (1 - std::pow(0.999, step + 1));
    w -= alpha * (m_hat / (std::sqrt(v_hat) + 1e-8) + (decoupled ? lambda * w : 0));
  }
  return w;
}

double adagrad(double w, std::size_t i, double decay) {
  double squares = 0;
  for (int step = 0; step < steps; ++step) {
    const double mean = (gradient_of(step, i) + decay * w) / samples;
    squares += mean * mean;
    w -= samples * step_of(step).rate * mean / (std::sqrt(squares) + 1e-8);
  }
  return w;
}

double rmsprop(double w, std::size_t i, double decay) {
  double mean_square = 0;
  for (int step = 0; step < steps; ++step) {
    const double mean = (gradient_of(step, i) + decay * w) / samples;
    mean_square += (1 - 0.9) * (mean * mean - mean_square);
    w -= samples * step_of(step).rate * mean / (std::sqrt(mean_square) + 1e-8);
  }
  return w;
}

// In the paper's terms: the root mean square of the updates over that of the gradients.
double adadelta(double w, std::size_t i, double decay) {
  double gradients = 0, updates = 0;
  for (int step = 0; step < steps; ++step) {
    const double mean = (gradient_of(step, i) + decay * w) / samples;
    gradients = 0.95 * gradients + 0.05 * mean * mean;
    const double update = -std::sqrt((updates + 1e-6) / (gradients + 1e-6)) * mean;
    updates = 0.95 * updates + 0.05 * update * update;
    w += samples * step_of(step).rate * update;
  }
  return w;
}

double lion(double w, std::size_t i, double decay) {
  double m = 0;
  for (int step = 0; step < steps; ++step) {
    const double mean = gradient_of(step, i) / samples, alpha = samples * step_of(step).rate;
    const double direction = 0.9 * m + (1 - 0.9) * mean > 0 ? 1 : -1;
    w -= alpha * (direction + decay / samples * w);
    m = 0.99 * m + (1 - 0.99) * mean;
  }
  return w;
}

// LARS in the paper's terms: mean gradient, learning rate of the minibatch, a local rate for the one real matrix.
std::vector<double> lars(std::vector<double> w, double momentum, double decay) {
  const double trust = 0.001, lambda = decay / samples;
  const auto norm = [&](const std::vector<double>& x) {
    double sum = 0;
    for (const double value : std::span(x).first(34)) sum += value * value;
    return std::sqrt(sum);
  };
  std::vector<double> mean(count), v(count);
  for (int step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < count; ++i) mean[i] = gradient_of(step, i) / samples;
    const double local_rate = trust * norm(w) / (norm(mean) + lambda * norm(w));
    for (std::size_t i = 0; i < count; ++i) {
      v[i] = momentum * v[i] + (i < 34 ? local_rate : 1) * (mean[i] + lambda * w[i]);
      w[i] -= samples * step_of(step).rate * v[i];
    }
  }
  return w;
}

// Newton and Schulz's iteration as it is published, on the side of the rows, for x[rows][columns].
std::vector<double> orthogonal(const std::vector<double>& x, std::size_t rows, std::size_t columns) {
  double square = 0;
  for (const double value : x) square += value * value;
  std::vector<double> result = x;
  for (double& value : result) value /= std::sqrt(square) + 1e-7;
  const auto product = [](const std::vector<double>& a, const std::vector<double>& b, std::size_t m, std::size_t k,
                          std::size_t n, bool transposed) {
    std::vector<double> c(m * n);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t l = 0; l < k; ++l) c[i * n + j] += a[i * k + l] * (transposed ? b[j * k + l] : b[l * n + j]);
    return c;
  };
  for (int i = 0; i < 5; ++i) {
    const auto gram = product(result, result, rows, columns, rows, true);
    const auto square_of_gram = product(gram, gram, rows, rows, rows, false);
    const auto once = product(gram, result, rows, rows, columns, false),
               twice = product(square_of_gram, result, rows, rows, columns, false);
    for (std::size_t e = 0; e < result.size(); ++e) result[e] = 3.4445 * result[e] - 4.7750 * once[e] + 2.0315 * twice[e];
  }
  return result;
}

// Muon: of the one real matrix, with two inputs and 17 outputs; AdamW for the vector.
std::vector<double> muon(std::vector<double> w, double decay) {
  constexpr std::size_t rows = 2, columns = 17;
  const double lambda = decay / samples, size = 0.2 * std::sqrt(17.);
  for (std::size_t i = rows * columns; i < count; ++i) w[i] = adam(w[i], i, decay, true);
  std::vector<double> m(rows * columns), u(rows * columns);
  for (int step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < m.size(); ++i) {
      const double mean = gradient_of(step, i) / samples;
      m[i] = 0.95 * m[i] + mean;
      u[i] = mean + 0.95 * m[i];
    }
    const std::vector<double> direction = orthogonal(u, rows, columns);
    for (std::size_t i = 0; i < m.size(); ++i) w[i] -= samples * step_of(step).rate * (size * direction[i] + lambda * w[i]);
  }
  return w;
}

}  // namespace

std::vector<double> formula(const std::string& name, double momentum, double decay) {
  std::vector<double> w(count), v(count);
  for (std::size_t i = 0; i < count; ++i) w[i] = static_cast<double>(i) / 10;
  if (name == "lars") return lars(w, momentum, decay);
  if (name == "muon") return muon(w, decay);
  if (name.starts_with("adam")) {
    for (std::size_t i = 0; i < count; ++i) w[i] = adam(w[i], i, decay, name == "adamw");
    return w;
  }
  const std::map<std::string, double (*)(double, std::size_t, double)> elementwise{
      {"adagrad", adagrad}, {"rmsprop", rmsprop}, {"adadelta", adadelta}, {"lion", lion}};
  if (const auto rule = elementwise.find(name); rule != elementwise.end()) {
    for (std::size_t i = 0; i < count; ++i) w[i] = rule->second(w[i], i, decay);
    return w;
  }
  std::vector<double> sums(count);
  for (int step = 0; step < steps; ++step)
    for (std::size_t i = 0; i < count; ++i) {
      const double g = gradient_of(step, i) + decay * w[i];
      const double rate = step_of(step).rate;
      if (name == "delayed_nesterov") {
        w[i] -= rate * g / 4;
        sums[i] += g;
        if (step % 4 != 3) continue;
        v[i] = momentum * v[i] + sums[i] / 4;
        w[i] -= rate * momentum * v[i];
        sums[i] = 0;
        continue;
      }
      if (name == "qhm") {  // as in the paper, by a mean of gradients
        v[i] = momentum * v[i] + (1 - momentum) * g;
        w[i] -= rate * (0.3 * g + 0.7 * v[i]);
        continue;
      }
      v[i] = momentum * v[i] + g;
      w[i] -= rate * (name == "sgd" ? g : name == "momentum" ? v[i] : g + momentum * v[i]);
    }
  return w;
}

}  // namespace paragrad::optim::testing
