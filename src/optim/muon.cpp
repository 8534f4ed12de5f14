#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "backend/kernels/adam_update.hpp"
#include "backend/kernels/copy.hpp"
#include "backend/kernels/copy_columns.hpp"
#include "backend/kernels/descend.hpp"
#include "backend/kernels/fill.hpp"
#include "backend/kernels/gemm.hpp"
#include "backend/kernels/momentum_update.hpp"
#include "backend/kernels/scale.hpp"
#include "optim/optimiser_context.hpp"

namespace paragrad::optim {
namespace {

struct MuonOptions : RuleOptions {
  enum class Size { rms, spectral };

  double momentum = 0.95;
  Size size = Size::rms;
  double adamw_rate = 1;

  void describe(core::OptionList& list) {
    RuleOptions::describe(list);
    list.number("muon-momentum", momentum, core::below_one, "Nesterov momentum coefficient of hidden matrices");
    list.choice("muon-size", size, {{"rms", Size::rms}, {"spectral", Size::spectral}},
                "size of a hidden matrix's step: as adamw's (rms: 0.2 sqrt(max(inputs, outputs))), or the same change of "
                "outputs for all (spectral: sqrt(outputs/inputs))");
    list.number("adamw-rate", adamw_rate, core::above_zero,
                "learning rate of everything but hidden matrices, in learning rates of these");
  }
};

/// Muon (Jordan et al., 2024): momentum whose update of a hidden matrix is made orthogonal. With the minibatch's mean
/// gradient d and the learning rate α of a minibatch,
///
///   m = μm + d;  u = d + μm;  w -= α (size·orthogonal(u) + λw)
///
/// orthogonal(u) has the singular vectors of u and singular values near 1: u divided by its norm, then five times
/// X = aX + (bA + cA²)X with A = XXᵀ (Newton and Schulz's iteration with coefficients chosen for speed; values that were not
/// tiny end between 0.68 and 1.14). The products are taken on the shorter side. size is 0.2·sqrt(max(inputs, outputs)), with
/// which a step has the root mean square of AdamW's (Liu et al., arXiv 2502.16982, 2025), or sqrt(outputs/inputs). Matrices
/// that are stored as one (queries, keys and values) are made orthogonal each by itself.
///
/// Embeddings, heads and vectors are updated by AdamW, with rate α·adamw_rate; see core::Role. `l2-on` says whether vectors
/// decay.
class Muon : public LocalOptimiser {
 public:
  Muon(const OptimiserContext& from, const MuonOptions& options);

  std::span<float> gradients() override { return gradients_.span(); }
  float keep(const Step&) const override { return 0; }
  bool descends() const override { return false; }
  bool needs_all() const override { return true; }
  void swap_gradients(core::Arena& other) override { std::swap(gradients_, other); }
  void begin_step() override { steps_ += 1; }
  void update(backend::KernelQueue& queue, core::Range range, Step step, std::span<float> parameters) override;
  void describe_state(core::StateView& state) override;
  void forget(backend::KernelQueue& queue) override;

 private:
  static bool is_hidden(const core::Matrix& matrix) { return matrix.role == core::Role::hidden && !matrix.is_vector(); }
  void update_hidden(backend::KernelQueue& queue, const core::Matrix& matrix, const Step& step, std::span<float> parameters);
  void orthogonalise(backend::KernelQueue& queue, std::span<float> x, std::size_t inputs, std::size_t outputs);
  void update_other(backend::KernelQueue& queue, const core::Matrix& matrix, std::size_t at, Step step,
                    std::span<float> parameters);
  double size_of_step(std::size_t inputs, std::size_t outputs) const;

  MuonOptions options_;
  bool decays_all_;
  std::span<const core::Matrix> layout_;
  core::Arena gradients_;
  core::Arena first_;                            // m; AdamW's first moment elsewhere
  core::Arena second_;                           // AdamW's, of what it updates
  core::Arena direction_, next_;                 // [largest hidden matrix]
  core::Arena part_;                             // [largest of those that are stacked]
  core::Arena gram_, scaled_gram_, polynomial_;  // [its shorter side squared]
  double steps_ = 0;
};

Muon::Muon(const OptimiserContext& from, const MuonOptions& options)
    : options_(options), decays_all_(decays_all(from.options)), layout_(from.layout) {
  std::size_t others = 0, largest = 0, part = 0, square = 0;
  for (const core::Matrix& matrix : layout_) {
    if (!is_hidden(matrix)) {
      others += matrix.shape.size();
      continue;
    }
    const std::size_t side = std::min(matrix.shape.columns, matrix.shape.rows / matrix.stacked);
    largest = std::max(largest, matrix.shape.size());
    if (matrix.stacked > 1) part = std::max(part, matrix.shape.size() / matrix.stacked);
    square = std::max(square, side * side);
  }
  gradients_ = from.device.allocate(from.parameters);
  first_ = from.device.allocate(from.parameters);
  second_ = from.device.allocate(others);
  for (core::Arena* const arena : {&direction_, &next_}) *arena = from.device.allocate(largest);
  part_ = from.device.allocate(part);
  for (core::Arena* const arena : {&gram_, &scaled_gram_, &polynomial_}) *arena = from.device.allocate(square);
}

void Muon::update(backend::KernelQueue& queue, core::Range range, Step step, std::span<float> parameters) {
  if (range != core::Range{0, parameters.size()}) throw std::logic_error("Muon updates all parameters at once");
  std::size_t others = 0;
  for (const core::Matrix& matrix : layout_) {
    if (is_hidden(matrix)) {
      update_hidden(queue, matrix, step, parameters);
    } else {
      update_other(queue, matrix, others, decays_all_ || !matrix.is_vector() ? step : without_decay(step), parameters);
      others += matrix.shape.size();
    }
  }
}

void Muon::update_hidden(backend::KernelQueue& queue, const core::Matrix& matrix, const Step& step,
                         std::span<float> parameters) {
  const std::size_t inputs = matrix.shape.columns, outputs = matrix.shape.rows / matrix.stacked;
  const core::Range range = matrix.range();
  const std::span<float> direction = direction_.span().first(range.size());
  queue.run(backend::Scale{1 / step.samples, range.of(gradients_.span())});
  queue.run(backend::Fill{0, direction});
  queue.run(backend::MomentumUpdate{-1, static_cast<float>(options_.momentum), true, 0, range.of(gradients_.span()),
                                    range.of(first_.span()), direction});
  if (matrix.stacked == 1) {
    orthogonalise(queue, direction, inputs, outputs);
  } else {
    const std::span<float> part = part_.span().first(inputs * outputs);
    for (std::size_t i = 0; i < matrix.stacked; ++i) {
      const std::span<float> stacked = direction.subspan(i * outputs, (inputs - 1) * matrix.shape.rows + outputs);
      queue.run(backend::CopyColumns{inputs, outputs, matrix.shape.rows, stacked, outputs, part});
      orthogonalise(queue, part, inputs, outputs);
      queue.run(backend::CopyColumns{inputs, outputs, outputs, part, matrix.shape.rows, stacked});
    }
  }
  const double rate = static_cast<double>(step.samples) * static_cast<double>(step.rate);
  const double size = size_of_step(inputs, outputs), lambda = static_cast<double>(step.decay) / step.samples;
  queue.run(
      backend::Descend{static_cast<float>(rate * size), static_cast<float>(lambda / size), direction, range.of(parameters)});
}

// x: [inputs][outputs].
void Muon::orthogonalise(backend::KernelQueue& queue, std::span<float> x, std::size_t inputs, std::size_t outputs) {
  using enum backend::Transpose;
  constexpr float a = 3.4445f, b = -4.775f, c = 2.0315f;
  constexpr int iterations = 5;
  const bool wide = inputs <= outputs;
  const std::size_t side = std::min(inputs, outputs), length = std::max(inputs, outputs);
  const std::span<float> gram = gram_.span().first(side * side), scaled = scaled_gram_.span().first(side * side),
                         polynomial = polynomial_.span().first(side * side), next = next_.span().first(x.size());
  queue.run(backend::Scale{static_cast<float>(1 / (std::sqrt(queue.squared_norm(x)) + 1e-7)), x});
  for (int i = 0; i < iterations; ++i) {
    queue.run(wide ? backend::Gemm{no, yes, side, side, length, x, x, 0, gram}
                   : backend::Gemm{yes, no, side, side, length, x, x, 0, gram});
    queue.run(backend::Copy{gram, scaled});
    queue.run(backend::Scale{c, scaled});
    queue.run(backend::Copy{gram, polynomial});
    queue.run(backend::Gemm{no, no, side, side, side, gram, scaled, b, polynomial});
    queue.run(backend::Copy{x, next});
    queue.run(wide ? backend::Gemm{no, no, side, length, side, polynomial, next, a, x}
                   : backend::Gemm{no, no, length, side, side, next, polynomial, a, x});
  }
}

double Muon::size_of_step(std::size_t inputs, std::size_t outputs) const {
  return options_.size == MuonOptions::Size::rms ? 0.2 * std::sqrt(static_cast<double>(std::max(inputs, outputs)))
                                                 : std::sqrt(static_cast<double>(outputs) / static_cast<double>(inputs));
}

// at: where its second moments begin.
void Muon::update_other(backend::KernelQueue& queue, const core::Matrix& matrix, std::size_t at, Step step,
                        std::span<float> parameters) {
  const core::Range range = matrix.range();
  if (range.empty()) return;
  step.rate *= static_cast<float>(options_.adamw_rate);
  queue.run(backend::AdamUpdate{adam_step(options_.numbers(), step, steps_, true), range.of(gradients_.span()),
                                range.of(first_.span()), second_.span().subspan(at, range.size()), range.of(parameters)});
}

void Muon::describe_state(core::StateView& state) {
  state.add("first_moment", first_.span(), core::Rescale::mean);
  state.add("second_moment", second_.span(), core::Rescale::mean);
  state.add("steps", steps_, core::Rescale::mean);
}

void Muon::forget(backend::KernelQueue& queue) {
  queue.run(backend::Fill{0, first_.span()});
  queue.run(backend::Fill{0, second_.span()});
  steps_ = 0;
}

}  // namespace

OptimiserEntry muon_entry() {
  return entry_of(
      {.name = "muon",
       .summary = "Muon: orthogonal updates of hidden matrices; AdamW for everything else",
       .source = "Jordan et al., 2024"},
      [](const OptimiserContext& from, const MuonOptions& options) { return std::make_unique<Muon>(from, options); },
      MuonOptions{{.published = adam_numbers}});
}

}  // namespace paragrad::optim
