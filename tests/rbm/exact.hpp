#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "rbm/rbm.hpp"

/// Tiny binomial machines by enumeration of their states, in double and by the energy alone,
/// E(v, h) = -v·W·h - b·h - c·v: nothing here is shared with what it judges.
namespace paragrad::rbm::testing {

using Values = std::vector<double>;

/// State number `code` of `units` binary units.
inline Values state(std::size_t code, std::size_t units) {
  Values result(units);
  for (std::size_t u = 0; u < units; ++u) result[u] = static_cast<double>(code >> u & 1);
  return result;
}

struct ExactMachine {
  Shape shape;
  std::vector<float> parameters;

  double weight(std::size_t i, std::size_t j) const { return static_cast<double>(parameters[i * shape.hidden + j]); }
  double b(std::size_t j) const { return static_cast<double>(parameters[shape.hidden_bias().begin + j]); }
  double c(std::size_t i) const { return static_cast<double>(parameters[shape.visible_bias().begin + i]); }
  std::size_t visible_states() const { return std::size_t{1} << shape.visible; }
  std::size_t hidden_states() const { return std::size_t{1} << shape.hidden; }

  double energy(const Values& v, const Values& h) const {
    double e = 0;
    for (std::size_t i = 0; i < shape.visible; ++i) {
      e -= c(i) * v[i];
      for (std::size_t j = 0; j < shape.hidden; ++j) e -= v[i] * weight(i, j) * h[j];
    }
    for (std::size_t j = 0; j < shape.hidden; ++j) e -= b(j) * h[j];
    return e;
  }

  /// Σ_h exp(-E(v, h))
  double unnormalised(const Values& v) const {
    double sum = 0;
    for (std::size_t h = 0; h < hidden_states(); ++h) sum += std::exp(-energy(v, state(h, shape.hidden)));
    return sum;
  }

  double partition_function() const {
    double sum = 0;
    for (std::size_t v = 0; v < visible_states(); ++v) sum += unnormalised(state(v, shape.visible));
    return sum;
  }

  double log_likelihood(const std::vector<Values>& data) const {
    double sum = 0;
    for (const Values& v : data) sum += std::log(unnormalised(v) / partition_function());
    return sum;
  }

  /// P(h|v) of all hidden states, and P(v|h) of all visible ones.
  Values hidden_given(const Values& v) const {
    Values p(hidden_states());
    for (std::size_t h = 0; h < p.size(); ++h) p[h] = std::exp(-energy(v, state(h, shape.hidden))) / unnormalised(v);
    return p;
  }
  Values visible_given(const Values& h) const {
    Values p(visible_states());
    double sum = 0;
    for (std::size_t v = 0; v < p.size(); ++v) sum += p[v] = std::exp(-energy(state(v, shape.visible), h));
    for (double& value : p) value /= sum;
    return p;
  }

  /// to += factor·E[v hᵀ, h, v | v], laid out as parameters are.
  void add_statistics(const Values& v, double factor, Values& to) const {
    const Values p = hidden_given(v);
    for (std::size_t code = 0; code < p.size(); ++code) {
      const Values h = state(code, shape.hidden);
      for (std::size_t j = 0; j < shape.hidden; ++j) {
        for (std::size_t i = 0; i < shape.visible; ++i) to[i * shape.hidden + j] += factor * p[code] * v[i] * h[j];
        to[shape.hidden_bias().begin + j] += factor * p[code] * h[j];
      }
    }
    for (std::size_t i = 0; i < shape.visible; ++i) to[shape.visible_bias().begin + i] += factor * v[i];
  }

  /// Distribution of the visible units after `steps` Gibbs steps from v.
  Values after(const Values& v, int steps) const {
    Values now(visible_states());
    std::size_t code = 0;
    for (std::size_t i = 0; i < shape.visible; ++i) code |= static_cast<std::size_t>(v[i]) << i;
    now[code] = 1;
    for (int step = 0; step < steps; ++step) {
      Values next(visible_states());
      for (std::size_t from = 0; from < now.size(); ++from) {
        const Values up = hidden_given(state(from, shape.visible));
        for (std::size_t h = 0; h < up.size(); ++h) {
          const Values down = visible_given(state(h, shape.hidden));
          for (std::size_t to = 0; to < next.size(); ++to) next[to] += now[from] * up[h] * down[to];
        }
      }
      now = next;
    }
    return now;
  }

  /// What CD-k's gradient is in expectation, for descent.
  Values contrastive_gradient(const std::vector<Values>& data, int steps) const {
    Values g(shape.parameter_count());
    for (const Values& v : data) {
      add_statistics(v, -1, g);
      const Values reached = after(v, steps);
      for (std::size_t code = 0; code < reached.size(); ++code) add_statistics(state(code, shape.visible), reached[code], g);
    }
    return g;
  }

  /// The gradient of the negative log-likelihood.
  Values likelihood_gradient(const std::vector<Values>& data) const {
    Values g(shape.parameter_count());
    const double z = partition_function();
    for (const Values& v : data) {
      add_statistics(v, -1, g);
      for (std::size_t code = 0; code < visible_states(); ++code) {
        const Values u = state(code, shape.visible);
        add_statistics(u, unnormalised(u) / z, g);
      }
    }
    return g;
  }
};

}  // namespace paragrad::rbm::testing
