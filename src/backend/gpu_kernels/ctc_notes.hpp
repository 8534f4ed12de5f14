#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/gpu_kernels/grid.hpp"
#include "backend/gpu_kernels/reductions.hpp"
#include "backend/gpu_kernels/scratch.hpp"

/// Layout of the data that the kernels of gpu_kernels/ctc.hpp pass to each other. Labels are on the device, so the host
/// sizes the tables as if every frame had one.
namespace paragrad::backend::gpu_kernels {

/// For a step: the number of frames and of table entries in all previous steps.
struct CtcStep {
  std::size_t row, cell;

  PARAGRAD_HOST_DEVICE CtcStep operator+(const CtcStep& other) const { return {row + other.row, cell + other.cell}; }
};

/// The batch and the kernels' intermediate data. A sequence with L labels has 2·L + 1 states: its labels (the odd states),
/// and blanks before, between and after them. A path of t + 1 frames cannot be beyond state 2·t + 1, so the table has 2·t +
/// 2 states there.
struct Ctc {
  std::size_t classes, steps, sequences, frames;
  const std::uint32_t* active;  ///< [steps]
  const std::int32_t* labels;   ///< [frames]
  float* logits;                ///< [frames][classes]

  CtcStep* at;                 ///< [steps]
  double* log_p;               ///< [frames][classes]
  std::int32_t* best;          ///< [frames] the class of the largest output; -1 if the probabilities are invalid
  double* table;               ///< [steps][sequences that last][states]: logarithms
  double* after;               ///< [sequences][2][states]
  std::int32_t* said;          ///< [sequences][steps] the labels
  std::int32_t* found;         ///< [sequences][steps] labels of the best path
  std::int64_t* distances;     ///< [sequences][3][steps + 1]
  std::uint32_t* label_count;  ///< [sequences]
  double* loss;                ///< [sequences]
  std::int64_t* errors;        ///< [sequences]

  PARAGRAD_HOST_DEVICE std::int32_t blank() const { return static_cast<std::int32_t>(classes) - 1; }
  PARAGRAD_HOST_DEVICE std::size_t most_states() const { return 2 * steps + 1; }
  PARAGRAD_HOST_DEVICE std::size_t place(std::size_t step, std::size_t sequence) const { return at[step].row + sequence; }
  PARAGRAD_HOST_DEVICE double* paths(std::size_t step, std::size_t sequence) const {
    return table + at[step].cell + sequence * (2 * step + 2);
  }
  /// Number of a sequence's states that a path can have reached by a step.
  PARAGRAD_HOST_DEVICE std::size_t reached(std::size_t step, std::size_t sequence) const {
    return std::min<std::size_t>(2 * label_count[sequence] + 1, 2 * step + 2);
  }

  PARAGRAD_HOST_DEVICE std::size_t length_of(std::size_t sequence) const {
    return first_step([&](std::size_t step) { return active[step] <= sequence; });
  }
  PARAGRAD_HOST_DEVICE std::size_t step_of(std::size_t place) const {
    return first_step([&](std::size_t step) { return at[step].row > place; }) - 1;
  }

 private:
  /// First step from which a condition holds; `steps` if it never does.
  template <class Holds>
  PARAGRAD_HOST_DEVICE std::size_t first_step(const Holds& holds) const {
    std::size_t begin = 0, end = steps;
    while (begin < end) {
      const std::size_t middle = (begin + end) / 2;
      if (holds(middle))
        end = middle;
      else
        begin = middle + 1;
    }
    return begin;
  }
};

/// Start of the frames of each step, and of its part of the table.
struct CtcLayout {
  static constexpr const char* name = "ctc: layout";
  static constexpr std::uint32_t threads = 256;
  struct Shared {
    CtcStep sums[threads];
  };

  Ctc ctc;

  std::size_t blocks() const { return 1; }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    block.each_of(ctc.steps, [&](std::size_t step) {
      const std::size_t rows = ctc.active[step];
      ctc.at[step] = {rows, rows * (2 * step + 2)};
    });
    scan_array(block, ctc.steps, ctc.at, shared.sums);
  }
};

/// `active` is host memory; the pointers of the batch stay null.
inline Ctc ctc_notes(Scratch& scratch, std::size_t classes, std::span<const std::uint32_t> active) {
  Ctc ctc{};
  ctc.classes = classes;
  ctc.steps = active.size();
  ctc.sequences = active.empty() ? 0 : active[0];
  std::size_t cells = 0;
  for (std::size_t step = 0; step < active.size(); ++step) {
    ctc.frames += active[step];
    cells += active[step] * (2 * step + 2);
  }
  ctc.at = scratch.take<CtcStep>(ctc.steps);
  ctc.log_p = scratch.take<double>(ctc.frames * classes);
  ctc.best = scratch.take<std::int32_t>(ctc.frames);
  ctc.table = scratch.take<double>(cells);
  ctc.after = scratch.take<double>(2 * ctc.sequences * ctc.most_states());
  ctc.said = scratch.take<std::int32_t>(ctc.sequences * ctc.steps);
  ctc.found = scratch.take<std::int32_t>(ctc.sequences * ctc.steps);
  ctc.distances = scratch.take<std::int64_t>(3 * ctc.sequences * (ctc.steps + 1));
  ctc.label_count = scratch.take<std::uint32_t>(ctc.sequences);
  ctc.loss = scratch.take<double>(ctc.sequences);
  ctc.errors = scratch.take<std::int64_t>(ctc.sequences);
  return ctc;
}

/// Bytes: 8 for each class of a frame, and for each sequence about 8 times the square of its frames.
inline std::size_t ctc_scratch(std::size_t classes, std::span<const std::uint32_t> active) {
  Scratch scratch;
  ctc_notes(scratch, classes, active);
  return scratch.bytes();
}

}  // namespace paragrad::backend::gpu_kernels
