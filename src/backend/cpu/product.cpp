#include "backend/cpu/product.hpp"

#include <algorithm>
#include <cstdint>

#include "backend/cpu/tile.hpp"
#include "backend/cpu/transpose.hpp"
#include "core/range.hpp"

namespace paragrad::backend::cpu {

namespace {

constexpr std::size_t column_block = 1024;  // a packed block of B, [128][1024], stays in the L2 cache
constexpr std::size_t few_rows = 128;       // a packed block of A, [128][128], stays near while all panels of B pass
constexpr std::size_t left_tile = std::max(tile_rows * packed_row, depth_block* packed_column);

constexpr std::size_t left_size = parts(few_rows, tile_rows) * left_tile;

/// The Operand's part that begins at (i, j).
Operand from(Operand operand, std::size_t i, std::size_t j) {
  const bool plain = operand.transpose == Transpose::no;
  operand.data += plain ? i * operand.stride + j : j * operand.stride + i;
  return operand;
}

void copy_row(std::size_t count, const float* from, float* to) {
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) store(load(from + i), to + i);
  if (i < count) store_part(load_part(from + i, count - i), to + i, count - i);
}

/// A[rows][depth] packed for tile(): by rows, or by columns if it is transposed.
void pack_left(std::size_t rows, std::size_t depth, Operand a, float* to) {
  if (a.transpose == Transpose::no) {
    for (std::size_t i = 0; i < rows; ++i) copy_row(depth, a.data + i * a.stride, to + i * packed_row);
  } else {
    for (std::size_t l = 0; l < depth; ++l) copy_row(rows, a.data + l * a.stride, to + l * packed_column);
  }
}

/// B[depth][columns ≤ tile_columns] as [depth][tile_columns]; the missing columns are zero.
void pack_panel(std::size_t depth, std::size_t columns, Operand b, float* to) {
  if (columns < tile_columns) std::fill_n(to, depth * tile_columns, 0.f);
  if (b.transpose == Transpose::yes) return transpose(columns, depth, b.data, b.stride, to, tile_columns);
  for (std::size_t l = 0; l < depth; ++l) copy_row(columns, b.data + l * b.stride, to + l * tile_columns);
}

/// B[depth][columns] as panels of tile_columns columns each, one after the other. Reads along B's rows, whole lines at a
/// time, so that the processor's prefetching works.
void pack_right(std::size_t depth, std::size_t columns, Operand b, float* to) {
  const std::size_t whole = columns / tile_columns * tile_columns;
  if (b.transpose == Transpose::no) {
    for (std::size_t l = 0; l < depth; ++l) {
      const float* row = b.data + l * b.stride;
      float* packed = to + l * tile_columns;
      for (std::size_t j = 0; j < whole; j += tile_columns, packed += depth * tile_columns) {
        store(load(row + j), packed);
        store(load(row + j + lanes), packed + lanes);
      }
    }
  } else {
    for (std::size_t j = 0; j < whole; j += tile_columns) pack_panel(depth, tile_columns, from(b, 0, j), to + j * depth);
  }
  if (whole < columns) pack_panel(depth, columns - whole, from(b, 0, whole), to + whole * depth);
}

/// The operands of multiply() and their blocking.
struct Product {
  std::size_t m, n, k;
  Operand a, b;
  float keep;
  float* c;
  std::size_t c_stride;
  const Finish* finish;
  std::size_t row_parts = parts(m, tile_rows);
  std::size_t depth_parts = std::max<std::size_t>(parts(k, depth_block), 1);

  core::Range rows(std::size_t i) const { return core::part_of(m, row_parts, i); }
  core::Range depth(std::size_t part) const { return core::part_of(k, depth_parts, part); }
  bool finishes(std::size_t part) const { return finish != nullptr && part + 1 == depth_parts; }

  void pack_rows(core::Range rows, core::Range depth, float* to) const {
    pack_left(rows.size(), depth.size(), from(a, rows.begin, depth.begin), to);
  }
  void add_tile(std::size_t part, core::Range rows, std::size_t column, std::size_t columns, const float* left, Walk right,
                Walk ahead) const {
    const Tile tile = find_tile(rows.size(), columns, a.transpose == Transpose::yes);
    tile(depth(part).size(), left, right, ahead, part == 0 ? keep : 1.f, columns, c_stride,
         c + rows.begin * c_stride + column);
  }
};

/// Where the walk through part `part` of B's panel that begins at `column` is in memory, if B is not transposed.
Walk panel_of(const Product& p, std::size_t part, std::size_t column) {
  return {p.b.data + p.depth(part).begin * p.b.stride + column, p.b.stride};
}

/// The panel that multiply_in_place() reads after (part, column); `nothing` after the last.
Walk next_panel(const Product& p, std::size_t part, std::size_t column, Walk nothing) {
  if (column + tile_columns < p.n) return panel_of(p, part, column + tile_columns);
  return part + 1 < p.depth_parts ? panel_of(p, part + 1, 0) : nothing;
}

/// With few rows, packing B does not pay off. B can be read in place if no load crosses cache lines.
bool can_multiply_in_place(const Product& p) {
  const auto address = reinterpret_cast<std::uintptr_t>(p.b.data);
  return p.m <= few_rows && p.b.transpose == Transpose::no && p.b.stride % cache_line_floats == 0 &&
         address % (cache_line_floats * sizeof(float)) == 0;
}

/// All rows use one panel of B, from memory, before the next; meanwhile their first tiles fetch that one.
void multiply_in_place(const Product& p, float* left) {
  const Walk nothing{left, 0};
  for (std::size_t part = 0; part < p.depth_parts; ++part) {
    for (std::size_t i = 0; i < p.row_parts; ++i) p.pack_rows(p.rows(i), p.depth(part), left + i * left_tile);
    for (std::size_t j = 0; j < p.n; j += tile_columns) {
      const std::size_t columns = std::min(tile_columns, p.n - j);
      const Walk panel = panel_of(p, part, j), next = next_panel(p, part, j, nothing);
      for (std::size_t i = 0; i < p.row_parts; ++i) {
        const bool fetches = i * cache_line_floats < tile_columns && next.stride != 0;
        const Walk ahead = fetches ? Walk{next.first + i * cache_line_floats, next.stride} : nothing;
        p.add_tile(part, p.rows(i), j, columns, left + i * left_tile, panel, ahead);
        if (p.finishes(part)) (*p.finish)(p.rows(i).begin, p.rows(i).size(), j, columns);
      }
    }
  }
}

/// The share of the tile at `column` in fetching what Finish reads of these rows. Only a block as wide as C is contiguous
/// and can be walked through.
Walk share_of_reads(const Product& p, core::Range rows, std::size_t depth, std::size_t column, Walk nothing) {
  if (p.finish->reads() == nullptr || p.c_stride != p.n || p.n > column_block || depth == 0) return nothing;
  const float* first = p.finish->reads() + rows.begin * p.n + column * rows.size();
  return {first, std::min(parts(rows.size() * tile_columns, depth), cache_line_floats)};
}

void multiply_packed(const Product& p, float* left, float* right) {
  const Walk nothing{left, 0};
  for (std::size_t j = 0; j < p.n; j += column_block) {
    const std::size_t columns = std::min(column_block, p.n - j);
    for (std::size_t part = 0; part < p.depth_parts; ++part) {
      const core::Range depth = p.depth(part);
      pack_right(depth.size(), columns, from(p.b, depth.begin, j), right);
      for (std::size_t i = 0; i < p.row_parts; ++i) {
        const core::Range rows = p.rows(i);
        p.pack_rows(rows, depth, left);
        for (std::size_t t = 0; t < columns; t += tile_columns) {
          const Walk ahead = p.finishes(part) ? share_of_reads(p, rows, depth.size(), j + t, nothing) : nothing;
          p.add_tile(part, rows, j + t, std::min(tile_columns, columns - t), left, {right + t * depth.size(), tile_columns},
                     ahead);
        }
        if (p.finishes(part)) (*p.finish)(rows.begin, rows.size(), j, columns);
      }
    }
  }
}

}  // namespace

float* PackBuffer::left() {
  if (memory_.size() == 0) memory_ = core::host_arena(left_size + depth_block * column_block);
  return memory_.span().data();
}

float* PackBuffer::right() { return left() + left_size; }

void multiply(PackBuffer& buffer, std::size_t m, std::size_t n, std::size_t k, Operand a, Operand b, float keep, float* c,
              const Finish* finish) {
  multiply(buffer, m, n, k, a, b, keep, c, n, finish);
}

void multiply(PackBuffer& buffer, std::size_t m, std::size_t n, std::size_t k, Operand a, Operand b, float keep, float* c,
              std::size_t c_stride, const Finish* finish) {
  const Product product{m, n, k, a, b, keep, c, c_stride, finish};
  if (can_multiply_in_place(product)) return multiply_in_place(product, buffer.left());
  multiply_packed(product, buffer.left(), buffer.right());
}

const char* instruction_set() {
  if (lanes == 16) return "AVX-512";
  return lanes == 8 ? "AVX2" : "portable";
}

}  // namespace paragrad::backend::cpu
