#include "backend/cpu/winograd.hpp"

#include <algorithm>

#include "backend/cpu/convolution_tile.hpp"
#include "backend/cpu/transpose.hpp"
#include "backend/cpu/vector.hpp"
#include "core/range.hpp"

// Images, filters and outputs are transformed into 36 matrices each, whose products are matrix products: [tiles][channels]
// times [channels][outputs]. Tiles go through all steps a batch at a time, which stays in the L2 cache up to about 110
// channels and outputs together. Vectors run over channels, so every step is the same arithmetic in all lanes.
namespace paragrad::backend::cpu {
namespace {

constexpr std::size_t tile_side = 4, window_side = 3, patch_side = 6, products = patch_side * patch_side;
constexpr std::size_t least_batch = 32;  // tiles, to amortise reading a transformed filter
constexpr std::size_t least_tiles = 4;   // of an image: for fewer, transforming the filters may not pay

// ---- the transforms of one direction, at the points 0, 1, -1, 2, -2 and infinity ----

Vector times(float factor, Vector v, Vector plus) { return multiply_add(broadcast(factor), v, plus); }

/// Bᵀ: a patch of the image.
constexpr auto transform_patch = [](const Vector (&d)[6], Vector (&to)[6]) {
  const Vector even = times(-4, d[2], d[4]), odd = times(-4, d[1], d[3]);
  const Vector far_even = d[4] - d[2], far_odd = d[3] - d[1];
  to[0] = times(4, d[0], times(-5, d[2], d[4]));
  to[1] = even + odd;
  to[2] = even - odd;
  to[3] = times(2, far_odd, far_even);
  to[4] = times(-2, far_odd, far_even);
  to[5] = times(4, d[1], times(-5, d[3], d[5]));
};

/// G: a filter.
constexpr auto transform_filter = [](const Vector (&g)[3], Vector (&to)[6]) {
  const Vector ends = (g[0] + g[2]) * (-1.f / 6), middle = g[1] * (-1.f / 6);
  const Vector far_ends = times(4, g[2], g[0]) * (1.f / 24), far_middle = g[1] * (1.f / 12);
  to[0] = g[0] * 0.25f;
  to[1] = ends + middle;
  to[2] = ends - middle;
  to[3] = far_ends + far_middle;
  to[4] = far_ends - far_middle;
  to[5] = g[2];
};

/// Aᵀ: products to outputs.
constexpr auto transform_to_outputs = [](const Vector (&m)[6], Vector (&to)[4]) {
  const Vector sum = m[1] + m[2], difference = m[1] - m[2], far_sum = m[3] + m[4], far_difference = m[3] - m[4];
  to[0] = m[0] + (sum + far_sum);
  to[1] = times(2, far_difference, difference);
  to[2] = times(4, far_sum, sum);
  to[3] = times(8, far_difference, difference) + m[5];
};

/// A: the gradient of outputs.
constexpr auto transform_outputs = [](const Vector (&d)[4], Vector (&to)[6]) {
  const Vector even = d[0] + d[2], odd = d[1] + d[3];
  const Vector far_even = times(4, d[2], d[0]), far_odd = times(8, d[3], d[1] + d[1]);
  to[0] = d[0];
  to[1] = even + odd;
  to[2] = even - odd;
  to[3] = far_even + far_odd;
  to[4] = far_even - far_odd;
  to[5] = d[3];
};

/// Gᵀ: products to the gradient of a filter.
constexpr auto transform_to_filter = [](const Vector (&u)[6], Vector (&to)[3]) {
  const Vector sum = u[1] + u[2], difference = u[2] - u[1], far_sum = u[3] + u[4], far_difference = u[3] - u[4];
  to[0] = times(1.f / 24, far_sum, times(-1.f / 6, sum, u[0] * 0.25f));
  to[1] = times(1.f / 12, far_difference, difference * (1.f / 6));
  to[2] = times(1.f / 6, far_sum - sum, u[5]);
};

/// A transform in both directions, T·from·Tᵀ: column(j, values) sets a column of `from`, row(i, values) gets one of the
/// result.
template <std::size_t in, std::size_t out, class Transform, class Column, class Row>
void transform_square(const Transform& one, const Column& column, const Row& row) {
  Vector columns[in][out];
  for (std::size_t j = 0; j < in; ++j) {
    Vector values[in];
    column(j, values);
    one(values, columns[j]);
  }
  for (std::size_t i = 0; i < out; ++i) {
    Vector across[in], values[out];
    for (std::size_t j = 0; j < in; ++j) across[j] = columns[j][i];
    one(across, values);
    row(i, values);
  }
}

// ---- matrices of products ----

/// Matrices, one for each of the 36 products.
struct Planes {
  float* data;
  std::size_t distance;  ///< between two of them; an odd number of vectors, so that they lie in different sets of a cache

  Planes(core::Arena& memory, std::size_t floats)
      : data(grown(memory, products * ((floats / lanes) | 1) * lanes)), distance(((floats / lanes) | 1) * lanes) {}
  float* of(std::size_t product) const { return data + product * distance; }
};

/// A place in all 36 matrices.
struct Place {
  float* first;
  std::size_t distance;

  Place(const Planes& planes, std::size_t at) : first(planes.data + at), distance(planes.distance) {}
  void put_row(std::size_t i, const Vector (&values)[patch_side]) const {
    for (std::size_t j = 0; j < patch_side; ++j) store(values[j], first + (i * patch_side + j) * distance);
  }
  void take_column(std::size_t j, Vector (&values)[patch_side]) const {
    for (std::size_t i = 0; i < patch_side; ++i) values[i] = load(first + (i * patch_side + j) * distance);
  }
};

/// Squares of an array [images][height][width][channels], one for each tile of the outputs; outside the array there are
/// zeros.
struct Squares {
  std::size_t height, width, channels;
  std::size_t before_down, before_across;  ///< places before the array at which the first square begins
  std::size_t down, across;                ///< squares of an image

  /// The part of a square that is in the array: its rows and columns, counted from the square's corner, and where it
  /// begins.
  struct Part {
    core::Range rows, columns;
    std::size_t begin;
  };
  Part part(std::size_t square, std::size_t side) const {
    const std::size_t image = square / (down * across), in_image = square % (down * across);
    const auto inside = [side](std::size_t corner, std::size_t before, std::size_t length) {
      const std::size_t end = length + before;  // of the array, counted like the corner
      return core::Range{before > corner ? before - corner : 0, corner < end ? std::min(side, end - corner) : 0};
    };
    const std::size_t row = in_image / across * tile_side, column = in_image % across * tile_side;
    const core::Range rows = inside(row, before_down, height), columns = inside(column, before_across, width);
    return {rows, columns,
            ((image * height + row + rows.begin - before_down) * width + column + columns.begin - before_across) * channels};
  }
};

/// planes[squares][channels] = the transformed squares [first, first + count). zeros: a row of a square.
template <std::size_t side, class Transform>
void transform_squares(const Transform& one, const Squares& squares, const float* from, std::size_t first, std::size_t count,
                       const float* zeros, const Planes& planes) {
  const std::size_t channels = squares.channels, line = squares.width * channels;
  for (std::size_t t = 0; t < count; ++t) {
    const auto [rows, columns, begin] = squares.part(first + t, side);
    const float* lines[side];
    for (std::size_t i = 0; i < side; ++i)
      lines[i] = i - rows.begin < rows.size() ? from + begin + (i - rows.begin) * line : zeros;
    for (std::size_t c = 0; c < channels; c += lanes) {
      const auto column = [&, columns = columns](std::size_t j, Vector(&values)[side]) {
        if (j - columns.begin < columns.size())
          for (std::size_t i = 0; i < side; ++i) values[i] = load(lines[i] + (j - columns.begin) * channels + c);
        else
          for (Vector& value : values) value = Vector{};
      };
      const Place to(planes, t * channels + c);
      transform_square<side, patch_side>(one, column, [&](std::size_t i, const auto& values) { to.put_row(i, values); });
    }
  }
}

std::size_t panel_of(std::size_t columns, std::size_t first) { return std::min(tile_columns, columns - first); }

/// planes, packed as panels of [channels][panel] = the transformed filters w[3][3][channels][outputs].
void transform_filters(std::size_t channels, std::size_t outputs, const float* w, const Planes& planes) {
  for (std::size_t j = 0; j < outputs; j += tile_columns) {
    const std::size_t width = panel_of(outputs, j);
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t k = 0; k < width; k += lanes) {
        const Place to(planes, j * channels + c * width + k);
        transform_square<window_side, patch_side>(
            transform_filter,
            [&](std::size_t x, Vector(&values)[window_side]) {
              for (std::size_t y = 0; y < window_side; ++y)
                values[y] = load(w + ((y * window_side + x) * channels + c) * outputs + j + k);
            },
            [&](std::size_t i, const auto& values) { to.put_row(i, values); });
      }
  }
}

/// Splits [rows][columns] into register tiles and calls with(rows, first column, columns, whether two registers wide).
template <class With>
void for_register_tiles(std::size_t rows, std::size_t columns, const With& with) {
  for (std::size_t j = 0; j < columns; j += tile_columns) {
    const std::size_t width = panel_of(columns, j);
    const bool wide = width == tile_columns;
    const std::size_t count = parts(rows, most_rows(wide));
    for (std::size_t part = 0; part < count; ++part) with(core::part_of(rows, count, part), j, width, wide);
  }
}

std::size_t tiles_in(std::size_t steps) { return parts(steps, tile_side); }

/// How many tiles go through all steps together.
std::size_t batch_of(std::size_t channels, std::size_t outputs) {
  return std::max(half_cache / (products * (channels + outputs)), least_batch);
}

/// A convolution of `from` with `filters`; finish(place of the outputs, column, sums) is called for every vector of outputs.
template <class Finish>
void convolve_tiles(Workspace& workspace, const Squares& squares, std::size_t tiles, const float* from,
                    const Planes& filters, std::size_t outputs, std::size_t steps_down, std::size_t steps_across,
                    const Finish& finish) {
  const std::size_t channels = squares.channels, most = std::min(batch_of(channels, outputs), tiles);
  const Planes patches(workspace.images, most * channels), sums(workspace.gradients, most * outputs);
  const std::vector<float> zeros(patch_side * channels);
  const Runs runs{{0}, channels};
  const Squares targets{steps_down, steps_across, outputs, 0, 0, squares.down, squares.across};
  for (std::size_t first = 0; first < tiles; first += most) {
    const std::size_t count = std::min(most, tiles - first);
    transform_squares<patch_side>(transform_patch, squares, from, first, count, zeros.data(), patches);
    for (std::size_t product = 0; product < products; ++product)
      for_register_tiles(count, outputs, [&](core::Range rows, std::size_t j, std::size_t width, bool wide) {
        find_window_tile(rows.size(), wide)(runs, patches.of(product) + rows.begin * channels, channels,
                                            filters.of(product) + j * channels, 0, width, outputs,
                                            sums.of(product) + rows.begin * outputs + j);
      });
    for (std::size_t t = 0; t < count; ++t) {
      const auto [rows, columns, begin] = targets.part(first + t, tile_side);
      for (std::size_t k = 0; k < outputs; k += lanes) {
        const Place from(sums, t * outputs + k);
        transform_square<patch_side, tile_side>(
            transform_to_outputs, [&](std::size_t j, auto& values) { from.take_column(j, values); },
            [&, rows = rows, columns = columns, at = begin + k](std::size_t i, const Vector(&y)[tile_side]) {
              if (i >= rows.end) return;
              for (std::size_t j = 0; j < columns.end; ++j) finish(at + (i * steps_across + j) * outputs, k, y[j]);
            });
      }
    }
  }
}

/// The patches that the windows of each output tile read.
Squares patches_of(const ConvolutionShape& shape) {
  return {shape.down.image,           shape.across.image,          shape.channels, shape.down.before, shape.across.before,
          tiles_in(shape.down.steps), tiles_in(shape.across.steps)};
}

std::size_t tile_count(const Squares& squares, std::size_t images) { return images * squares.down * squares.across; }

bool is_small_window(const WindowSteps& side) {
  return side.window == window_side && side.stride == 1 && side.dilation == 1 && side.before < window_side;
}

}  // namespace

// By the sizes of one image alone: its outputs must not depend on how many others are in the minibatch.
bool is_for_winograd(const ConvolutionShape& shape) {
  if (shape.rows == 0 || shape.groups > 1) return false;
  if (!is_small_window(shape.down) || !is_small_window(shape.across)) return false;
  if (shape.channels % lanes != 0 || shape.outputs % lanes != 0) return false;
  const auto pays = [](std::size_t down, std::size_t across) {
    const std::size_t tiles = tiles_in(down) * tiles_in(across);
    return tiles >= least_tiles && tile_side * tile_side * tiles <= 2 * down * across;
  };
  return pays(shape.down.steps, shape.across.steps) && pays(shape.down.image, shape.across.image);
}

void run_winograd(Workspace& workspace, const ConvolutionForward& kernel) {
  const ConvolutionShape& shape = kernel.shape;
  const Planes filters(workspace.filters, shape.channels * shape.outputs);
  transform_filters(shape.channels, shape.outputs, kernel.w.data(), filters);
  const Squares squares = patches_of(shape);
  with_fused(kernel.f, [&]<Activation f>() {
    convolve_tiles(workspace, squares, tile_count(squares, shape.rows), kernel.x.data(), filters, shape.outputs,
                   shape.down.steps, shape.across.steps, [&](std::size_t at, std::size_t column, Vector sum) {
                     if (!kernel.bias.empty()) sum += load(kernel.bias.data() + column);
                     store(activate<f>(sum), kernel.y.data() + at);
                   });
  });
}

/// A convolution of dy with the filters rotated by 180°, from outputs to channels.
void run_winograd(Workspace& workspace, const ConvolutionBackwardInput& kernel) {
  const ConvolutionShape& shape = kernel.shape;
  const std::size_t window = shape.channels * shape.outputs, places = window_side * window_side;
  float* const rotated = grown(workspace.images, places * window);
  for (std::size_t place = 0; place < places; ++place)
    transpose(shape.channels, shape.outputs, kernel.w.data() + place * window, shape.outputs,
              rotated + (places - 1 - place) * window, shape.channels);
  const Planes filters(workspace.filters, window);
  transform_filters(shape.outputs, shape.channels, rotated, filters);
  const Squares squares{shape.down.steps,
                        shape.across.steps,
                        shape.outputs,
                        window_side - 1 - shape.down.before,
                        window_side - 1 - shape.across.before,
                        tiles_in(shape.down.image),
                        tiles_in(shape.across.image)};
  with_fused(kernel.f, [&]<Activation f>() {
    convolve_tiles(workspace, squares, tile_count(squares, shape.rows), kernel.dy.data(), filters, shape.channels,
                   shape.down.image, shape.across.image, [&](std::size_t at, std::size_t, Vector sum) {
                     float* const dx = kernel.dx.data() + at;
                     if (kernel.keep != 0) sum = multiply_add(broadcast(kernel.keep), load(dx), sum);
                     if constexpr (f != Activation::identity) sum = times_slope<f>(sum, load(kernel.x.data() + at));
                     store(sum, dx);
                   });
  });
}

void run_winograd(Workspace& workspace, const ConvolutionBackwardWeights& kernel) {
  const ConvolutionShape& shape = kernel.shape;
  const std::size_t channels = shape.channels, outputs = shape.outputs;
  const Squares squares = patches_of(shape);
  const Squares of_dy{shape.down.steps, shape.across.steps, outputs, 0, 0, squares.down, squares.across};
  const std::size_t tiles = tile_count(squares, shape.rows), most = std::min(batch_of(channels, outputs), tiles);
  const Planes patches(workspace.images, most * channels), gradients(workspace.gradients, most * outputs);
  const Planes sums(workspace.filters, channels * outputs);
  const std::vector<float> zeros(patch_side * std::max(channels, outputs));
  const std::vector<std::size_t> begin{0};
  for (std::size_t first = 0; first < tiles; first += most) {
    const std::size_t count = std::min(most, tiles - first);
    transform_squares<patch_side>(transform_patch, squares, kernel.x.data(), first, count, zeros.data(), patches);
    transform_squares<tile_side>(transform_outputs, of_dy, kernel.dy.data(), first, count, zeros.data(), gradients);
    const Positions positions{begin, count, channels, outputs};
    for (std::size_t product = 0; product < products; ++product)
      for_register_tiles(channels, outputs, [&](core::Range rows, std::size_t j, std::size_t width, bool wide) {
        find_position_tile(rows.size(), wide)(positions, patches.of(product) + rows.begin, gradients.of(product) + j,
                                              first == 0 ? 0.f : 1.f, width, outputs,
                                              sums.of(product) + rows.begin * outputs + j);
      });
  }
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t k = 0; k < outputs; k += lanes) {
      const Place from(sums, c * outputs + k);
      transform_square<patch_side, window_side>(
          transform_to_filter, [&](std::size_t j, auto& values) { from.take_column(j, values); },
          [&](std::size_t y, const Vector(&gradient)[window_side]) {
            for (std::size_t x = 0; x < window_side; ++x) {
              float* const to = kernel.dw.data() + ((y * window_side + x) * channels + c) * outputs + k;
              store(kernel.keep == 0 ? gradient[x] : multiply_add(broadcast(kernel.keep), load(to), gradient[x]), to);
            }
          });
    }
}

}  // namespace paragrad::backend::cpu
