#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

namespace paragrad::backend {

/// A layer of long short-term memory (Hochreiter and Schmidhuber 1997; forget gates: Gers, Schmidhuber and Cummins 2000;
/// peepholes: Gers, Schraudolph and Schmidhuber 2002; projection: Sak, Senior and Beaufays, Interspeech 2014). With H cells,
/// R outputs and the input's contribution z = x·W + b, for each direction
///
///   i = σ(z_i + h₋·U_i + p_i∘c₋)   f = σ(z_f + h₋·U_f + p_f∘c₋)   g = tanh(z_g + h₋·U_g)
///   c = f∘c₋ + i∘g                 o = σ(z_o + h₋·U_o + p_o∘c)    m = o∘tanh(c)   h = m, or m·V with projection
///
/// where c₋ and h₋ belong to the previous step and are zero at the beginning of a sequence.
struct LstmShape {
  std::size_t cells = 0;       ///< H
  std::size_t outputs = 0;     ///< R per direction; equals cells without projection
  std::size_t directions = 1;  ///< 2: the second runs from the last step to the first
  bool peepholes = false;
  bool projected = false;

  std::size_t gate_width() const { return directions * 4 * cells; }  ///< of all gates of a frame, i f g o
  std::size_t cell_width() const { return directions * cells; }
  std::size_t output_width() const { return directions * outputs; }
  std::size_t hidden_width() const { return projected ? cell_width() : 0; }
  std::size_t recurrent_size() const { return directions * outputs * 4 * cells; }
  std::size_t peephole_size() const { return peepholes ? directions * 3 * cells : 0; }
  std::size_t projection_size() const { return projected ? directions * cells * outputs : 0; }
};

/// Parameters, or their gradients.
template <class Float>
struct LstmWeightsOf {
  std::span<Float> recurrent;   ///< U, [directions][R][4][H]
  std::span<Float> peepholes;   ///< p, [directions][3][H]: i f o; or empty
  std::span<Float> projection;  ///< V, [directions][H][R]; or empty
};
using LstmWeights = LstmWeightsOf<const float>;
using LstmGradients = LstmWeightsOf<float>;

/// What the forward pass saves for the backward pass.
struct LstmMemory {
  std::span<float>
      gates;  ///< [frames][directions][4][H]: z before; i f g o after; gradients with respect to z after the backward pass
  std::span<float> cells;   ///< c, [frames][directions][H]
  std::span<float> hidden;  ///< m, [frames][directions][H] with projection; otherwise empty
};

/// Layout of the frames of several sequences: all first frames, all second frames, …, the longest sequence first. active[t]
/// is the number of sequences that have a frame t, at most active[t-1].
class Steps {
 public:
  explicit Steps(std::span<const std::uint32_t> active) : active_(active) {
    for (std::size_t t = 0; t < active.size(); ++t) {
      if (active[t] == 0 || (t > 0 && active[t] > active[t - 1]))
        throw std::logic_error("the sequences of a minibatch are not in the order of their lengths");
      frames_ += active[t];
    }
  }

  std::span<const std::uint32_t> active() const { return active_; }
  std::size_t count() const { return active_.size(); }
  std::size_t frames() const { return frames_; }
  std::size_t most_rows() const { return active_.empty() ? 0 : active_[0]; }

  struct Step {
    std::size_t row = 0;            ///< of its first frame
    std::size_t rows = 0;           ///< one per sequence
    std::size_t row_before = 0;     ///< first row of the previous step in this direction
    std::size_t rows_continue = 0;  ///< number of leading rows that have a previous step
  };

  /// Visits all steps in the order of a direction, or in reverse.
  template <class Visit>
  void walk(bool backwards, bool in_order, const Visit& visit) const {
    const bool upwards = backwards != in_order;
    std::size_t row = upwards ? 0 : frames_;
    for (std::size_t i = 0; i < count(); ++i) {
      const std::size_t t = upwards ? i : count() - 1 - i;
      const std::size_t rows = active_[t];
      if (!upwards) row -= rows;
      Step step{row, rows, 0, 0};
      if (!backwards && t > 0) step = {row, rows, row - active_[t - 1], rows};
      if (backwards && t + 1 < count()) step = {row, rows, row + rows, active_[t + 1]};
      visit(step);
      if (upwards) row += rows;
    }
  }

 private:
  std::span<const std::uint32_t> active_;
  std::size_t frames_ = 0;
};

}  // namespace paragrad::backend
