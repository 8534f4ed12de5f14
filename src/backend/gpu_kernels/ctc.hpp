#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "backend/gpu_kernels/ctc_notes.hpp"
#include "backend/gpu_kernels/gpu_context.hpp"
#include "backend/gpu_kernels/grid.hpp"
#include "backend/gpu_kernels/reductions.hpp"
#include "backend/gpu_kernels/scratch.hpp"
#include "backend/kernels/ctc.hpp"

/// Connectionist temporal classification, as in reference/ctc.hpp. Independent work on frames runs in parallel; one block
/// computes the paths of a sequence, frame by frame. A label outside the classes makes the loss NaN, as a GPU cannot throw.
namespace paragrad::backend::gpu_kernels {

/// Log probabilities of each frame, and its most probable class (ties: the first).
struct CtcSoftmax {
  static constexpr const char* name = "ctc: softmax";
  static constexpr std::uint32_t threads = 128;
  static constexpr std::uint32_t nothing = ~std::uint32_t{0};
  struct Peak {
    float value;
    std::uint32_t index;
  };
  union Shared {  // one after the other
    Peak peaks[threads];
    double sums[threads];
  };

  Ctc ctc;

  std::size_t blocks() const { return std::min<std::size_t>(ctc.frames, 8192); }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    for (std::size_t frame = block.index; frame < ctc.frames; frame += block.blocks) {
      const float* row = ctc.logits + frame * ctc.classes;
      const Peak peak = peak_of(block, shared, row);
      const double largest = static_cast<double>(peak.value);
      const auto power = [&](std::size_t k) { return std::exp(static_cast<double>(row[k]) - largest); };
      const double sum = reduce(block, ctc.classes, 0.0, shared.sums, power, Sum{}), log_of_sum = std::log(sum);
      block.each_of(ctc.classes, [&](std::size_t k) {
        ctc.log_p[frame * ctc.classes + k] = static_cast<double>(row[k]) - largest - log_of_sum;
        if (k == 0) ctc.best[frame] = std::isnan(sum) ? -1 : static_cast<std::int32_t>(peak.index);
      });
    }
  }

 private:
  /// Sums numbers; any NaN makes the sum NaN, whatever the largest is.
  PARAGRAD_HOST_DEVICE Peak peak_of(const Block& block, Shared& shared, const float* row) const {
    const auto term = [&](std::size_t k) { return Peak{row[k], static_cast<std::uint32_t>(k)}; };
    const auto first_largest = [](const Peak& a, const Peak& b) {
      return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;
    };
    const Peak none{-std::numeric_limits<float>::infinity(), nothing};
    return reduce(block, ctc.classes, none, shared.peaks, term, first_largest);
  }
};

/// For one sequence: its labels and its loss; and, in the table, for each frame the log probability of each state given the
/// labels (the share of the paths through it).
struct CtcPaths {
  static constexpr const char* name = "ctc: paths";
  static constexpr std::uint32_t threads = 256;
  struct Shared {
    std::size_t values[threads];
  };

  Ctc ctc;

  std::size_t blocks() const { return ctc.sequences; }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    const std::size_t sequence = block.index, length = ctc.length_of(sequence);
    const bool good = take_labels(block, shared, sequence, length);
    forward(block, sequence, length);
    const std::size_t last = 2 * ctc.label_count[sequence];
    double all = before(length - 1, sequence, last);
    if (last > 0) all = ctc_paths::log_sum(all, before(length - 1, sequence, last - 1));
    if (!good) all = std::numeric_limits<double>::quiet_NaN();
    block.each([&](std::uint32_t thread) {
      if (thread == 0) ctc.loss[sequence] = -all;
    });
    backward(block, sequence, length, all);
  }

 private:
  /// Whether all probabilities and labels are valid; invalid labels are not used.
  PARAGRAD_HOST_DEVICE bool take_labels(const Block& block, Shared& shared, std::size_t sequence, std::size_t length) const {
    const auto label = [&](std::size_t step) { return ctc.labels[ctc.place(step, sequence)]; };
    const auto end = [&](std::size_t step) { return label(step) == no_label ? step : length; };
    const std::size_t count = reduce(block, length, length, shared.values, end, Smallest{});
    const auto wrong_label = [&](std::size_t u) { return std::size_t{label(u) < 0 || label(u) >= ctc.blank()}; };
    const bool of_classes = reduce(block, count, std::size_t{0}, shared.values, wrong_label, Largest{}) == 0;
    const auto broken = [&](std::size_t step) { return std::size_t{ctc.best[ctc.place(step, sequence)] < 0}; };
    const bool of_numbers = reduce(block, length, std::size_t{0}, shared.values, broken, Largest{}) == 0;
    const std::size_t taken = of_classes ? count : 0;
    block.each_of(std::max<std::size_t>(taken, 1), [&](std::size_t u) {
      if (u < taken) ctc.said[sequence * ctc.steps + u] = label(u);
      if (u == 0) ctc.label_count[sequence] = static_cast<std::uint32_t>(taken);
    });
    return of_classes && of_numbers;
  }

  PARAGRAD_HOST_DEVICE std::int32_t label_of(std::size_t sequence, std::size_t state) const {
    return state % 2 == 0 ? ctc.blank() : ctc.said[sequence * ctc.steps + state / 2];
  }
  PARAGRAD_HOST_DEVICE double log_p(std::size_t step, std::size_t sequence, std::size_t state) const {
    const auto label = static_cast<std::size_t>(label_of(sequence, state));
    return ctc.log_p[ctc.place(step, sequence) * ctc.classes + label];
  }
  /// Whether a path may go from state - 2 to state: past a blank, between labels that differ.
  PARAGRAD_HOST_DEVICE bool may_skip(std::size_t sequence, std::size_t state) const {
    return state >= 2 && state % 2 == 1 && label_of(sequence, state) != label_of(sequence, state - 2);
  }
  /// Log probability of all paths from the first frame to a state.
  PARAGRAD_HOST_DEVICE double before(std::size_t step, std::size_t sequence, std::size_t state) const {
    return state < 2 * step + 2 ? ctc.paths(step, sequence)[state] : ctc_paths::log_zero;
  }

  PARAGRAD_HOST_DEVICE void forward(const Block& block, std::size_t sequence, std::size_t length) const {
    for (std::size_t step = 0; step < length; ++step) {
      block.each_of(ctc.reached(step, sequence), [&](std::size_t s) {
        double paths = 0;
        if (step > 0) {
          paths = before(step - 1, sequence, s);
          if (s >= 1) paths = ctc_paths::log_sum(paths, before(step - 1, sequence, s - 1));
          if (may_skip(sequence, s)) paths = ctc_paths::log_sum(paths, before(step - 1, sequence, s - 2));
        }
        ctc.paths(step, sequence)[s] = paths + log_p(step, sequence, s);
      });
    }
  }

  /// `after` holds the paths from a state to the end, for this step and the next one.
  PARAGRAD_HOST_DEVICE void backward(const Block& block, std::size_t sequence, std::size_t length, double all) const {
    const std::size_t width = ctc.most_states(), last = 2 * ctc.label_count[sequence];
    for (std::size_t step = length; step-- > 0;) {
      double* const here = ctc.after + (2 * sequence + step % 2) * width;
      const double* const behind = ctc.after + (2 * sequence + (step + 1) % 2) * width;
      block.each_of(ctc.reached(step, sequence), [&](std::size_t s) {
        double paths = s + 2 > last ? 0 : ctc_paths::log_zero;
        if (step + 1 < length) {
          paths = behind[s];
          if (s + 1 <= last) paths = ctc_paths::log_sum(paths, behind[s + 1]);
          if (s + 2 <= last && may_skip(sequence, s + 2)) paths = ctc_paths::log_sum(paths, behind[s + 2]);
        }
        here[s] = paths + log_p(step, sequence, s);
        double& through = ctc.paths(step, sequence)[s];
        const bool exists = through > ctc_paths::log_zero && paths > ctc_paths::log_zero;
        through = exists ? through + paths - all : ctc_paths::log_zero;
      });
    }
  }
};

/// For one sequence: substitutions, insertions and deletions of its labels against the best path.
struct CtcErrors {
  static constexpr const char* name = "ctc: errors";
  static constexpr std::uint32_t threads = 256;
  struct Shared {
    std::size_t counts[threads];
  };

  Ctc ctc;

  std::size_t blocks() const { return ctc.sequences; }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    const std::size_t sequence = block.index;
    std::int64_t errors = std::max<std::int64_t>(1, ctc.label_count[sequence]);
    if (!std::isnan(ctc.loss[sequence])) errors = edit_distance(block, sequence, collapse(block, shared, sequence));
    block.each([&](std::uint32_t thread) {
      if (thread == 0) ctc.errors[sequence] = errors;
    });
  }

 private:
  /// The labels of the best path, with equal neighbours merged and blanks removed. Returns their number.
  PARAGRAD_HOST_DEVICE std::size_t collapse(const Block& block, Shared& shared, std::size_t sequence) const {
    const std::size_t length = ctc.length_of(sequence);
    const auto best = [&](std::size_t step) { return ctc.best[ctc.place(step, sequence)]; };
    const auto over_labels = [&](std::uint32_t thread, const auto& visit) {
      const Stretch mine = Stretch::of(length, thread, threads);
      for (std::size_t step = mine.begin; step < mine.end; ++step)
        if (best(step) != ctc.blank() && (step == 0 || best(step) != best(step - 1))) visit(best(step));
    };
    block.each([&](std::uint32_t thread) {
      std::size_t count = 0;
      over_labels(thread, [&](std::int32_t) { count += 1; });
      shared.counts[thread] = count;
    });
    const std::size_t all = scan(block, shared.counts);
    block.each([&](std::uint32_t thread) {
      std::int32_t* to = ctc.found + sequence * ctc.steps + shared.counts[thread];
      over_labels(thread, [&](std::int32_t label) { *to++ = label; });
    });
    return all;
  }

  /// Levenshtein distances of the first i reference labels and the first j found ones, by antidiagonals i + j = 0, 1, …,
  /// each of which depends only on the previous two.
  PARAGRAD_HOST_DEVICE std::int64_t edit_distance(const Block& block, std::size_t sequence, std::size_t found_count) const {
    const std::int32_t *said = ctc.said + sequence * ctc.steps, *found = ctc.found + sequence * ctc.steps;
    const std::size_t said_count = ctc.label_count[sequence], width = ctc.steps + 1;
    std::int64_t* const first = ctc.distances + 3 * sequence * width;
    for (std::size_t sum = 0; sum <= said_count + found_count; ++sum) {
      std::int64_t* const here = first + sum % 3 * width;
      const std::int64_t *before = first + (sum + 2) % 3 * width, *before_that = first + (sum + 1) % 3 * width;
      const std::size_t least = sum > found_count ? sum - found_count : 0, most = std::min(sum, said_count);
      block.each_of(most + 1 - least, [&](std::size_t k) {
        const std::size_t i = least + k, j = sum - i;
        if (i == 0 || j == 0) {
          here[i] = static_cast<std::int64_t>(sum);
          return;
        }
        const std::int64_t replaced = before_that[i - 1] + (said[i - 1] != found[j - 1] ? 1 : 0);
        here[i] = std::min(replaced, std::min(before[i - 1], before[i]) + 1);
      });
    }
    return first[(said_count + found_count) % 3 * width + said_count];
  }
};

/// Gradient: p minus the share of the paths through a class's states. 0 if there is no path.
struct CtcGradient {
  static constexpr const char* name = "ctc: gradient";
  static constexpr std::uint32_t threads = 128;
  struct Shared {
    double sums[threads];
  };

  Ctc ctc;

  std::size_t blocks() const { return std::min<std::size_t>(ctc.frames, 8192); }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    for (std::size_t frame = block.index; frame < ctc.frames; frame += block.blocks) {
      const std::size_t step = ctc.step_of(frame), sequence = frame - ctc.at[step].row;
      const std::size_t states = ctc.reached(step, sequence);
      const double* through = ctc.paths(step, sequence);
      const auto of_blank = [&](std::size_t u) { return std::exp(through[2 * u]); };
      const double blanks = reduce(block, (states + 1) / 2, 0.0, shared.sums, of_blank, Sum{});
      const bool impossible = std::isinf(ctc.loss[sequence]);
      block.each_of(ctc.classes, [&](std::size_t k) {
        const std::size_t i = frame * ctc.classes + k;
        const double share = k + 1 == ctc.classes ? blanks : share_of(k, sequence, states, through);
        ctc.logits[i] = impossible ? 0.f : static_cast<float>(std::exp(ctc.log_p[i]) - share);
      });
    }
  }

 private:
  PARAGRAD_HOST_DEVICE double share_of(std::size_t label, std::size_t sequence, std::size_t states,
                                       const double* through) const {
    const std::int32_t* said = ctc.said + sequence * ctc.steps;
    double share = 0;
    for (std::size_t u = 0; u < states / 2; ++u)
      if (static_cast<std::size_t>(said[u]) == label) share += std::exp(through[2 * u + 1]);
    return share;
  }
};

/// In the order of the sequences.
struct CtcSum {
  static constexpr const char* name = "ctc: sum";
  static constexpr std::uint32_t threads = 32;
  using Shared = Nothing;

  Ctc ctc;
  LossSum* into;

  std::size_t blocks() const { return 1; }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared&) const {
    block.each([&](std::uint32_t thread) {
      if (thread != 0) return;
      double loss = 0;
      std::int64_t errors = 0;
      for (std::size_t sequence = 0; sequence < ctc.sequences; ++sequence) {
        loss += ctc.loss[sequence];
        errors += ctc.errors[sequence];
      }
      into->loss += loss;
      into->errors += errors;
    });
  }
};

/// backend::Ctc. active_there: the same lengths in device memory. scratch: ctc_scratch() bytes.
template <class Run>
void ctc(const Run& run, std::size_t classes, std::span<const std::uint32_t> active, const std::uint32_t* active_there,
         const std::int32_t* labels, float* logits, std::byte* scratch, LossSum* into) {
  if (active.empty()) return;
  Scratch memory(scratch);
  Ctc ctc = ctc_notes(memory, classes, active);
  ctc.active = active_there;
  ctc.labels = labels;
  ctc.logits = logits;
  run(CtcLayout{ctc});
  run(CtcSoftmax{ctc});
  run(CtcPaths{ctc});
  run(CtcErrors{ctc});
  run(CtcGradient{ctc});
  run(CtcSum{ctc, into});
}

// ---- bodies ----

void run(auto& gpu, const backend::Ctc& kernel) {
  const std::span<const std::uint32_t> active = kernel.steps.active();
  auto* const notes = gpu.template scratch<std::byte>("ctc", ctc_scratch(kernel.classes, active));
  const auto lengths = [&] { return std::vector<std::uint32_t>(active.begin(), active.end()); };
  ctc(gpu.runner(), kernel.classes, active, gpu.lengths.of(active, lengths), kernel.labels.data(), kernel.logits.data(),
      notes, kernel.into);
}

}  // namespace paragrad::backend::gpu_kernels
