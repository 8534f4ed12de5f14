#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backend/cpu/bodies.hpp"
#include "backend/cpu/softmax.hpp"

namespace paragrad::backend::cpu {

namespace {

using ctc_paths::log_sum;
using ctc_paths::log_zero;

/// The lattice of one sequence: states are its labels with blanks around them, in double.
class CtcSequence {
 public:
  CtcSequence(std::size_t classes, std::span<const std::size_t> places, const std::int32_t* labels, float* logits)
      : classes_(classes),
        places_(places),
        logits_(logits),
        states_(ctc_paths::with_blanks(places, labels, classes - 1)),
        count_(states_.size()),
        log_p_(places.size() * count_),
        before_(places.size() * count_, log_zero),
        skips_(count_) {
    for (std::size_t s = 0; s < count_; ++s) skips_[s] = ctc_paths::may_skip(states_, s);
  }

  LossSum run() {
    LossSum result;
    const bool broken = take_softmax();
    go_forward();
    const double all = broken ? std::numeric_limits<double>::quiet_NaN() : log_of_all();
    result.loss = -all;
    const auto wanted = static_cast<std::int64_t>(count_ / 2);
    result.errors = broken ? std::max<std::int64_t>(1, wanted) : errors();
    if (all == log_zero)
      for (std::size_t t = 0; t < frames(); ++t) std::fill_n(row(t), classes_, 0.f);
    else
      go_back(all);
    return result;
  }

 private:
  std::size_t frames() const { return places_.size(); }
  float* row(std::size_t t) const { return logits_ + places_[t] * classes_; }
  double& log_p(std::size_t t, std::size_t s) { return log_p_[t * count_ + s]; }
  double& before(std::size_t t, std::size_t s) { return before_[t * count_ + s]; }

  // States that a path from the first frame to the last can be in.
  std::size_t first_state(std::size_t t) const {
    const std::size_t left = 2 * (frames() - t);
    return count_ > left ? count_ - left : 0;
  }
  std::size_t end_state(std::size_t t) const { return std::min(count_, 2 * t + 2); }

  // Logits become probabilities; their logarithms are kept for the states. True: there is NaN, or infinity.
  bool take_softmax() {
    bool broken = false;
    for (std::size_t t = 0; t < frames(); ++t) {
      float* z = row(t);
      const float largest = largest_of(classes_, z);
      best_.push_back(static_cast<std::size_t>(std::find(z, z + classes_, largest) - z));
      for (std::size_t s = 0; s < count_; ++s) log_p(t, s) = static_cast<double>(z[states_[s]] - largest);
      const float sum = exponentiate(classes_, largest, z);
      const double log_of_sum = std::log(static_cast<double>(sum));
      for (std::size_t s = 0; s < count_; ++s) log_p(t, s) -= log_of_sum;
      transform(
          classes_, z, [&](Vector e) { return e / sum; }, z);
      broken = broken || std::isnan(sum);
    }
    return broken;
  }

  std::int64_t errors() const {
    return ctc_paths::edit_distance(ctc_paths::collapsed(states_, classes_ - 1), ctc_paths::collapsed(best_, classes_ - 1));
  }

  void go_forward() {
    for (std::size_t s = 0; s < end_state(0); ++s) before(0, s) = log_p(0, s);
    for (std::size_t t = 1; t < frames(); ++t)
      for (std::size_t s = first_state(t); s < end_state(t); ++s) {
        double paths = before(t - 1, s);
        if (s >= 1) paths = log_sum(paths, before(t - 1, s - 1));
        if (skips_[s]) paths = log_sum(paths, before(t - 1, s - 2));
        before(t, s) = paths + log_p(t, s);
      }
  }

  double log_of_all() {
    const std::size_t t = frames() - 1;
    return count_ > 1 ? log_sum(before(t, count_ - 1), before(t, count_ - 2)) : before(t, 0);
  }

  // after: log probability of the paths from state s at frame t on, excluding that frame. The share of the paths through its
  // states is subtracted from each probability.
  void go_back(double all) {
    std::vector<double> after(count_, log_zero), next(count_), share(classes_, 0.0);
    for (std::size_t t = frames(); t-- > 0;) {
      const bool is_last = t + 1 == frames();
      for (std::size_t s = 0; s < count_; ++s) {
        next[s] = is_last && s + 2 >= count_ ? 0 : log_zero;
        if (is_last || s < first_state(t) || s >= end_state(t)) continue;
        next[s] = after[s] + log_p(t + 1, s);
        if (s + 1 < count_) next[s] = log_sum(next[s], after[s + 1] + log_p(t + 1, s + 1));
        if (s + 2 < count_ && skips_[s + 2]) next[s] = log_sum(next[s], after[s + 2] + log_p(t + 1, s + 2));
      }
      std::swap(after, next);
      for (std::size_t s = first_state(t); s < end_state(t); ++s)
        share[states_[s]] += std::exp(before(t, s) + after[s] - all);
      float* gradient = row(t);
      for (const std::size_t k : states_) {
        gradient[k] -= static_cast<float>(share[k]);
        share[k] = 0;
      }
    }
  }

  std::size_t classes_;
  std::span<const std::size_t> places_;
  float* logits_;
  std::vector<std::size_t> states_;
  std::size_t count_;
  std::vector<double> log_p_;   // [frames][states]
  std::vector<double> before_;  // [frames][states], of the paths up to a state, its frame included
  std::vector<bool> skips_;     // [states] whether a path may come from two states before
  std::vector<std::size_t> best_;
};

}  // namespace

// One sequence after another, computing only the part of the lattice on paths from the first frame to the last.
void run(Workspace&, const Ctc& kernel) {
  LossSum total;
  for (std::size_t s = 0; s < kernel.steps.most_rows(); ++s) {
    const std::vector<std::size_t> places = ctc_paths::places_of(kernel.steps.active(), s);
    total += CtcSequence(kernel.classes, places, kernel.labels.data(), kernel.logits.data()).run();
  }
  *kernel.into += total;
}

}  // namespace paragrad::backend::cpu
