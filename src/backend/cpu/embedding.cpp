#include <algorithm>

#include "backend/cpu/bodies.hpp"
#include "backend/cpu/vector.hpp"

// Row by row, in the formulas' order of additions.
namespace paragrad::backend::cpu {
namespace {

/// x = keep·x; 0 if keep is.
void keep_of(std::span<float> x, float keep) {
  if (keep == 0)
    std::ranges::fill(x, 0.f);
  else if (keep != 1)
    transform(
        x.size(), x.data(), [&](Vector v) { return keep * v; }, x.data());
}

void add(std::size_t count, const float* from, float* to) {
  transform(
      count, to, [](Vector a, Vector b) { return a + b; }, to, from);
}

}  // namespace

void run(Workspace&, const EmbeddingForward& kernel) {
  const auto& [width, tokens, table, y] = kernel;
  for (std::size_t row = 0; row < tokens.size(); ++row)
    std::copy_n(table.data() + static_cast<std::size_t>(tokens[row]) * width, width, y.data() + row * width);
}

void run(Workspace&, const EmbeddingGradient& kernel) {
  const auto& [width, tokens, dy, keep, dtable] = kernel;
  keep_of(dtable, keep);
  for (std::size_t row = 0; row < tokens.size(); ++row)
    add(width, dy.data() + row * width, dtable.data() + static_cast<std::size_t>(tokens[row]) * width);
}

void run(Workspace&, const AddPositions& kernel) {
  const auto& [rows, width, x, table, y] = kernel;
  for (std::size_t row = 0; row < rows.size(); ++row)
    transform(
        width, y.data() + row * width, [](Vector a, Vector b) { return a + b; }, x.data() + row * width,
        table.data() + rows.step_of(row) * width);
}

void run(Workspace&, const PositionsGradient& kernel) {
  const auto& [rows, width, dy, keep, dtable] = kernel;
  for (std::size_t i = 0; i < dtable.size(); i += width) {
    const std::size_t step = i / width, sequences = step < rows.steps ? rows.sequences : 0;
    for (std::size_t c = 0; c < width; c += lanes) {
      const std::size_t count = std::min(lanes, width - c);
      const auto read = [&](const float* from) { return count == lanes ? load(from) : load_part(from, count); };
      Vector sum{};
      for (std::size_t s = 0; s < sequences; ++s) sum += read(dy.data() + rows.row(step, s) * width + c);
      float* const to = dtable.data() + i + c;
      const Vector result = keep == 0 ? sum : keep * read(to) + sum;
      count == lanes ? store(result, to) : store_part(result, to, count);
    }
  }
}

}  // namespace paragrad::backend::cpu
