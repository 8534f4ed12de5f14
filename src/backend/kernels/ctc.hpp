#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "backend/device_array.hpp"
#include "backend/kernel.hpp"
#include "backend/kernels/losses.hpp"
#include "backend/loss_sum.hpp"
#include "backend/steps.hpp"

namespace paragrad::backend {

// ---- one sequence, in logarithms, over full tables ----

namespace ctc_paths {

/// The positions of a sequence's frames, in order.
inline std::vector<std::size_t> places_of(std::span<const std::uint32_t> active, std::size_t sequence) {
  std::vector<std::size_t> places;
  for (std::size_t t = 0, row = 0; t < active.size() && active[t] > sequence; row += active[t++])
    places.push_back(row + sequence);
  return places;
}

/// The labels at those positions with blanks before, between and after them: [2·labels + 1].
inline std::vector<std::size_t> with_blanks(std::span<const std::size_t> places, const std::int32_t* labels,
                                            std::size_t blank) {
  std::vector<std::size_t> states{blank};
  for (const std::size_t place : places) {
    if (labels[place] == no_label) break;
    states.push_back(class_of(labels[place], blank));
    states.push_back(blank);
  }
  return states;
}

/// Merges equal neighbours and removes blanks.
inline std::vector<std::size_t> collapsed(std::span<const std::size_t> path, std::size_t blank) {
  std::vector<std::size_t> labels;
  for (std::size_t t = 0; t < path.size(); ++t)
    if (path[t] != blank && (t == 0 || path[t] != path[t - 1])) labels.push_back(path[t]);
  return labels;
}

/// Substitutions, insertions and deletions that turn one sequence into the other (Levenshtein distance).
inline std::int64_t edit_distance(std::span<const std::size_t> a, std::span<const std::size_t> b) {
  std::vector<std::int64_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::int64_t diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::int64_t replaced = diagonal + (a[i - 1] != b[j - 1] ? 1 : 0);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

/// Whether a path may go from state s - 2 to s: past a blank, between labels that differ.
inline bool may_skip(std::span<const std::size_t> states, std::size_t s) {
  return s >= 2 && s % 2 == 1 && states[s] != states[s - 2];
}

inline constexpr double log_zero = -std::numeric_limits<double>::infinity();

/// log(e^a + e^b)
PARAGRAD_HOST_DEVICE inline double log_sum(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == log_zero ? a : a + std::log1p(std::exp(b - a));
}

/// A table [frames][states] of logarithms.
class LogTable {
 public:
  LogTable(std::size_t frames, std::size_t states) : states_(states), values_(frames * states, log_zero) {}
  double& at(std::size_t t, std::size_t s) { return values_[t * states_ + s]; }

 private:
  std::size_t states_;
  std::vector<double> values_;
};

/// One sequence.
template <class Real>
LossSum sequence_loss(std::size_t classes, std::span<const std::size_t> places, const std::int32_t* labels, Real* logits) {
  const std::size_t blank = classes - 1, frames = places.size();
  const std::vector<std::size_t> states = with_blanks(places, labels, blank);
  const std::size_t last = states.size() - 1;

  LogTable log_p(frames, classes);
  std::vector<std::size_t> best;
  bool broken = false;
  for (std::size_t t = 0; t < frames; ++t) {
    const Real* row = logits + places[t] * classes;
    const double largest = static_cast<double>(*std::max_element(row, row + classes));
    double sum = 0;
    for (std::size_t k = 0; k < classes; ++k) sum += std::exp(static_cast<double>(row[k]) - largest);
    for (std::size_t k = 0; k < classes; ++k) log_p.at(t, k) = static_cast<double>(row[k]) - largest - std::log(sum);
    best.push_back(static_cast<std::size_t>(std::max_element(row, row + classes) - row));
    broken = broken || std::isnan(sum);
  }
  LossSum result;
  const std::vector<std::size_t> wanted = collapsed(states, blank), found = collapsed(best, blank);
  result.errors = broken ? std::max<std::int64_t>(1, static_cast<std::int64_t>(last / 2)) : edit_distance(wanted, found);

  // Paths from the first frame to state s at frame t, and from there to the end; both include frame t.
  LogTable before(frames, states.size()), after(frames, states.size());
  for (std::size_t t = 0; t < frames; ++t)
    for (std::size_t s = 0; s <= last; ++s) {
      double paths = t == 0 && s <= 1 ? 0 : log_zero;
      if (t > 0) {
        paths = before.at(t - 1, s);
        if (s >= 1) paths = log_sum(paths, before.at(t - 1, s - 1));
        if (may_skip(states, s)) paths = log_sum(paths, before.at(t - 1, s - 2));
      }
      before.at(t, s) = paths + log_p.at(t, states[s]);
    }
  for (std::size_t t = frames; t-- > 0;)
    for (std::size_t s = 0; s <= last; ++s) {
      double paths = t + 1 == frames && s + 2 > last ? 0 : log_zero;
      if (t + 1 < frames) {
        paths = after.at(t + 1, s);
        if (s + 1 <= last) paths = log_sum(paths, after.at(t + 1, s + 1));
        if (s + 2 <= last && may_skip(states, s + 2)) paths = log_sum(paths, after.at(t + 1, s + 2));
      }
      after.at(t, s) = paths + log_p.at(t, states[s]);
    }
  double all = before.at(frames - 1, last);
  if (last > 0) all = log_sum(all, before.at(frames - 1, last - 1));
  if (broken) all = std::numeric_limits<double>::quiet_NaN();
  result.loss = -all;

  for (std::size_t t = 0; t < frames; ++t) {
    std::vector<double> share(classes, 0.0);
    for (std::size_t s = 0; s <= last; ++s)
      if (before.at(t, s) > log_zero && after.at(t, s) > log_zero)
        share[states[s]] += std::exp(before.at(t, s) + after.at(t, s) - log_p.at(t, states[s]) - all);
    for (std::size_t k = 0; k < classes; ++k)
      logits[places[t] * classes + k] = all == log_zero ? Real(0) : static_cast<Real>(std::exp(log_p.at(t, k)) - share[k]);
  }
  return result;
}

}  // namespace ctc_paths

/// Connectionist temporal classification (Graves, Fernández, Gomez and Schmidhuber, ICML 2006) of sequences laid out as in
/// Steps: *into += -Σ log p(labels), where p is the sum over all paths (one class per frame) that give the labels after
/// merging equal neighbours and removing blanks (the last class). labels[frames]: the labels of a sequence in the
/// positions of its first frames, -1 in the others. Overwrites logits[frames][classes] with the gradient.
///
/// errors: substitutions, insertions and deletions against the best path (the largest output of each frame).
/// Labels that need more frames than available (one each, and one between equal neighbours) have an infinite loss and a
/// zero gradient. Computed in logarithms, in double. The counted work excludes the labels, which a device that does not
/// compute cannot know.
template <class Real>
struct CtcOf {
  static constexpr KernelId id = KernelId::ctc;

  std::size_t classes;
  Steps steps;
  std::span<const std::int32_t> labels;
  std::span<Real> logits;
  LossSum* into;

  void check() const {
    expect_size(id, "labels", labels.size(), steps.frames());
    expect_size(id, "logits", logits.size(), steps.frames() * classes);
  }
  KernelCost cost() const { return streaming_cost(logits.size(), 8, 4); }
  void reference() const {
    LossSum total;
    for (std::size_t s = 0; s < steps.most_rows(); ++s)
      total += ctc_paths::sequence_loss(classes, ctc_paths::places_of(steps.active(), s), labels.data(), logits.data());
    *into += total;
  }

  /// Sequences of 64 frames with one label each.
  static Example<CtcOf> example(ExampleMemory& memory, std::size_t count) {
    constexpr std::size_t classes = 10;
    const std::size_t rows = std::max<std::size_t>(1, count / classes), frames = std::min<std::size_t>(rows, 64);
    const std::size_t sequences = rows / frames;
    std::vector<std::int32_t> labels(frames * sequences, -1);
    std::fill_n(labels.begin(), sequences, 0);
    const auto there = std::make_shared<DeviceArray<std::int32_t>>(on_device(memory.device(), std::span(labels)));
    const auto steps = Steps(std::vector<std::uint32_t>(frames, static_cast<std::uint32_t>(sequences)));
    return [=, &memory] {
      return CtcOf{classes, steps, there->span(), memory.activations(0, frames * sequences * classes), memory.loss()};
    };
  }
};
using Ctc = CtcOf<float>;

}  // namespace paragrad::backend
