#include <algorithm>
#include <utility>
#include <vector>

#include "backend/cpu/bodies.hpp"
#include "backend/cpu/convolution_tile.hpp"
#include "backend/cpu/transpose.hpp"
#include "backend/cpu/vector.hpp"
#include "backend/cpu/winograd.hpp"
#include "core/range.hpp"

// Convolutions as matrix products whose left matrix is not made: a row of it, the part of the image under a window, is a few
// runs of neighbouring floats in the image, and rows of neighbouring windows are a fixed distance apart. So the tile that
// multiplies reads them where they are. Only images with a margin of zeros are copied, a band at a time.
//
// The gradient of the images is a convolution of dy, one for each offset of an image's place from the stride's grid; the
// gradient of the filters is a product over the positions of the windows.
namespace paragrad::backend::cpu {
namespace {

std::size_t panel_width(std::size_t columns) { return columns <= lanes ? lanes : tile_columns; }
std::size_t packed_columns(std::size_t columns) {
  return columns / tile_columns * tile_columns + (columns % tile_columns == 0 ? 0 : panel_width(columns % tile_columns));
}

/// Rows of windows, of one image or of several, and what they see of the images.
struct Band {
  const float* base;
  std::vector<std::size_t> rows;  ///< where the first window of each row begins
};

/// Images as windows see them.
class Images {
 public:
  /// A direction: places of the image, window positions, stride, places before and after that windows see.
  struct Side {
    std::size_t image, steps, stride, before, after, reach;  ///< reach: from a window's first to its last place
  };

  Images(core::Arena& memory, const float* data, std::size_t images, std::size_t channels, const Side& down,
         const Side& across)
      : memory_(memory),
        data_(data),
        images_(images),
        channels_(channels),
        down_(down),
        across_(across),
        padded_(down.before + down.after + across.before + across.after > 0) {}

  /// Floats between a place and the one below.
  std::size_t line() const { return (across_.before + across_.image + across_.after) * channels_; }
  std::size_t step() const { return across_.stride * channels_; }

  /// Calls with(band, first row of windows), the rows of all images counted as one sequence.
  template <class F>
  void for_bands(const F& with) {
    const std::size_t whole = (down_.before + down_.image + down_.after) * line();
    if (whole <= half_cache) {
      const std::size_t together = half_cache / std::max<std::size_t>(whole, 1);
      for (std::size_t n = 0; n < images_; n += together)
        with(of_images(n, std::min(n + together, images_)), n * down_.steps);
      return;
    }
    const std::size_t lines = std::max(half_cache / line(), down_.reach + 1);
    const std::size_t height = (lines - down_.reach - 1) / down_.stride + 1;
    for (std::size_t n = 0; n < images_; ++n)
      for (std::size_t row = 0; row < down_.steps; row += height)
        with(of_rows(n, row, std::min(row + height, down_.steps)), n * down_.steps + row);
  }

 private:
  Band of_images(std::size_t begin, std::size_t end) {
    if (!padded_) return add_rows(Band{image(begin), {}}, 0, begin, end, 0, down_.steps);
    const std::size_t whole = (down_.before + down_.image + down_.after) * line();
    float* const to = grown(memory_, (end - begin) * whole);
    for (std::size_t n = begin; n < end; ++n) copy(n, 0, down_.before + down_.image + down_.after, to + (n - begin) * whole);
    return add_rows(Band{to, {}}, whole, begin, end, 0, down_.steps);
  }
  Band of_rows(std::size_t n, std::size_t begin, std::size_t end) {
    if (!padded_) return add_rows(Band{image(n) + begin * down_.stride * line(), {}}, 0, n, n + 1, 0, end - begin);
    const std::size_t lines = (end - begin - 1) * down_.stride + down_.reach + 1;
    float* const to = grown(memory_, lines * line());
    copy(n, begin * down_.stride, lines, to);
    return add_rows(Band{to, {}}, 0, n, n + 1, 0, end - begin);
  }
  Band add_rows(Band band, std::size_t distance, std::size_t first_image, std::size_t last_image, std::size_t begin,
                std::size_t end) const {
    if (!padded_) distance = down_.image * line();
    for (std::size_t n = first_image; n < last_image; ++n)
      for (std::size_t row = begin; row < end; ++row)
        band.rows.push_back((n - first_image) * distance + row * down_.stride * line());
    return band;
  }

  const float* image(std::size_t n) const { return data_ + n * down_.image * across_.image * channels_; }

  /// Lines from `first` on, counted from the margin's first.
  void copy(std::size_t n, std::size_t first, std::size_t count, float* to) const {
    const std::size_t width = across_.image * channels_, before = across_.before * channels_;
    for (std::size_t i = first; i < first + count; ++i, to += line()) {
      if (i < down_.before || i - down_.before >= down_.image) {
        std::fill_n(to, line(), 0.f);
        continue;
      }
      std::fill_n(to, before, 0.f);
      std::copy_n(image(n) + (i - down_.before) * width, width, to + before);
      std::fill_n(to + before + width, line() - before - width, 0.f);
    }
  }

  core::Arena& memory_;
  const float* data_;
  std::size_t images_, channels_;
  Side down_, across_;
  bool padded_;
};

/// Calls with(first column, number of columns, whether they fill two registers or only one).
template <class F>
void for_panels(std::size_t columns, const F& with) {
  for (std::size_t j = 0; j < columns; j += tile_columns) {
    const std::size_t count = std::min(tile_columns, columns - j);
    with(j, count, panel_width(count) == tile_columns);
  }
}

/// Windows times filters, for the rows of a band. target(row) is where the columns of a row's first position go, or null if
/// they go nowhere. `finish`, called with (tile, positions, first column, columns), completes a tile while it is in the
/// cache.
struct WindowProduct {
  const Runs& runs;
  const float* filters;  ///< packed
  std::size_t columns;
  std::size_t positions, step;  ///< windows of a row; floats between two of them
  std::size_t target_step;      ///< floats between two positions of the target
  float keep;

  template <class Target, class Finish>
  void run(const Band& band, std::size_t source_column, const Target& target, const Finish& finish) const {
    const float* panel = filters;
    for_panels(columns, [&](std::size_t j, std::size_t count, bool wide) {
      const std::size_t tiles = parts(positions, most_rows(wide));
      for (std::size_t row = 0; row < band.rows.size(); ++row)
        for (std::size_t t = 0; t < tiles; ++t) {
          float* const line = target(row);
          if (line == nullptr) break;
          const core::Range range = core::part_of(positions, tiles, t);
          float* const to = line + range.begin * target_step + j;
          find_window_tile(range.size(), wide)(runs, band.base + band.rows[row] + range.begin * step + source_column, step,
                                               panel, keep, count, target_step, to);
          finish(to, range.size(), j, count);
        }
      panel += runs.offsets.size() * runs.depth * panel_width(count);
    });
  }
};

/// With windows of one place, every place of an image may be in the same row. If the window is the whole image, its places
/// are channels of one place.
ConvolutionShape flattened(ConvolutionShape shape) {
  if (shape.down.is_each_place() && shape.across.is_each_place()) {
    shape.across.image = shape.across.steps = shape.down.image * shape.across.image;
    shape.down.image = shape.down.steps = 1;
  } else if (shape.down.is_whole_image() && shape.across.is_whole_image() && shape.groups == 1) {
    shape.channels *= shape.down.window * shape.across.window;
    shape.down = shape.across = {1, 1, 1};
  }
  return shape;
}

Images::Side side_of(const WindowSteps& side) {
  const std::size_t reach = (side.window - 1) * side.dilation;
  return {side.image, side.steps, side.stride, side.before, side.after(), reach};
}

Images images_of(Workspace& workspace, const ConvolutionShape& shape, const float* x) {
  return {workspace.images, x, shape.rows, shape.channels, side_of(shape.down), side_of(shape.across)};
}

/// The runs of a filter: its lines if they are contiguous in the image, or else its places.
Runs runs_of(const ConvolutionShape& shape, std::size_t line) {
  Runs runs{{}, shape.group_channels()};
  const bool whole_lines = shape.groups == 1 && shape.across.dilation == 1;
  if (whole_lines) runs.depth *= shape.across.window;
  for (std::size_t ky = 0; ky < shape.down.window; ++ky)
    for (std::size_t kx = 0; kx < (whole_lines ? 1 : shape.across.window); ++kx)
      runs.offsets.push_back(ky * shape.down.dilation * line + kx * shape.across.dilation * shape.channels);
  return runs;
}

/// from[depth][columns], with rows `stride` apart, as panels.
void pack(std::size_t depth, std::size_t columns, const float* from, std::size_t stride, float* to) {
  for_panels(columns, [&](std::size_t j, std::size_t count, bool) {
    const std::size_t width = panel_width(count);
    for (std::size_t l = 0; l < depth; ++l, to += width) {
      std::copy_n(from + l * stride + j, count, to);
      std::fill_n(to + count, width - count, 0.f);
    }
  });
}

template <Activation f>
void add_bias_and_activate(std::size_t positions, std::size_t step, std::size_t count, std::span<const float> bias,
                           float* y) {
  if (f == Activation::identity && bias.empty()) return;
  for (std::size_t i = 0; i < positions; ++i, y += step) {
    if (bias.empty())
      transform(count, y, activate<f>, y);
    else
      transform(
          count, y, [](Vector z, Vector b) { return activate<f>(z + b); }, y, bias.data());
  }
}

template <Activation f>
void multiply_by_slope(std::size_t positions, std::size_t step, std::size_t count, const float* x, float* dx) {
  if constexpr (f != Activation::identity)
    for (std::size_t i = 0; i < positions; ++i) transform(count, dx + i * step, times_slope<f>, dx + i * step, x + i * step);
}

/// The places of an image, in one direction, that lie at the same distance from the stride's grid: they are seen through the
/// same places of a window, `first`, first + stride, … Place t of them is seen through tap k by window t + at(k).
struct Phase {
  std::size_t first, places;
  std::vector<std::pair<std::size_t, std::ptrdiff_t>> taps;  ///< k, and the window's distance from t
};

std::vector<Phase> phases_of(const WindowSteps& side) {
  std::vector<Phase> phases;
  const auto stride = static_cast<std::ptrdiff_t>(side.stride);
  for (std::size_t first = 0; first < std::min(side.stride, side.image); ++first) {
    Phase phase{first, parts(side.image - first, side.stride), {}};
    for (std::size_t k = 0; k < side.window; ++k) {
      const auto distance =
          static_cast<std::ptrdiff_t>(first + side.before) - static_cast<std::ptrdiff_t>(k * side.dilation);
      if (distance % stride == 0) phase.taps.emplace_back(k, distance / stride);
    }
    phases.push_back(std::move(phase));
  }
  return phases;
}

/// What the phases see of dy: `steps` windows, and zeros around them.
Images::Side side_of(const std::vector<Phase>& phases, std::size_t steps) {
  std::ptrdiff_t least = 0, most = 0;
  for (const Phase& phase : phases)
    for (const auto& [k, distance] : phase.taps) {
      least = std::min(least, distance);
      most = std::max(most, distance);
    }
  const std::size_t places = phases.front().places, before = static_cast<std::size_t>(-least);
  const std::size_t end = places + static_cast<std::size_t>(most);
  return {steps, places, 1, before, end > steps ? end - steps : 0, before + static_cast<std::size_t>(most)};
}

/// The filters of a group seen in a phase, [taps · outputs][channels] in panels.
const float* pack_transposed(Workspace& workspace, const ConvolutionBackwardInput& kernel, const ConvolutionShape& shape,
                             std::size_t group, const Phase& down, const Phase& across) {
  const std::size_t outputs = shape.group_outputs(), channels = shape.group_channels();
  const std::size_t taps = down.taps.size() * across.taps.size();
  float* const packed = grown(workspace.filters, taps * outputs * packed_columns(channels));
  float* to = packed;
  for_panels(channels, [&](std::size_t j, std::size_t count, bool) {
    const std::size_t width = panel_width(count);
    if (count < width) std::fill_n(to, taps * outputs * width, 0.f);
    for (const auto& [ky, below] : down.taps)
      for (const auto& [kx, right] : across.taps) {
        transpose(count, outputs, &kernel.w[shape.weight(ky, kx, j, group * outputs)], shape.outputs, to, width);
        to += outputs * width;
      }
  });
  return packed;
}

/// Rows of `count` floats as rows of `width`, the rest zero.
const float* widened(Workspace& workspace, std::size_t rows, std::size_t count, std::size_t width, const float* from,
                     std::size_t stride) {
  float* const packed = grown(workspace.gradients, rows * width);
  for (std::size_t i = 0; i < rows; ++i) {
    std::copy_n(from + i * stride, count, packed + i * width);
    std::fill_n(packed + i * width + count, width - count, 0.f);
  }
  return packed;
}

}  // namespace

void run(Workspace& workspace, const ConvolutionForward& kernel) {
  if (is_for_winograd(kernel.shape)) return run_winograd(workspace, kernel);
  const ConvolutionShape shape = flattened(kernel.shape);
  const std::size_t depth = shape.inner(), outputs = shape.group_outputs(), group = depth * packed_columns(outputs);
  float* const filters = grown(workspace.filters, shape.groups * group);
  for (std::size_t g = 0; g < shape.groups; ++g)
    pack(depth, outputs, kernel.w.data() + g * outputs, shape.outputs, filters + g * group);
  Images images = images_of(workspace, shape, kernel.x.data());
  const Runs runs = runs_of(shape, images.line());
  const std::size_t line = shape.across.steps * shape.outputs;
  with_fused(kernel.f, [&]<Activation f>() {
    images.for_bands([&](const Band& band, std::size_t first_row) {
      for (std::size_t g = 0; g < shape.groups; ++g) {
        const auto target = [&](std::size_t row) { return kernel.y.data() + (first_row + row) * line + g * outputs; };
        const auto finish = [&](float* y, std::size_t positions, std::size_t column, std::size_t count) {
          add_bias_and_activate<f>(positions, shape.outputs, count,
                                   kernel.bias.subspan(kernel.bias.empty() ? 0 : g * outputs + column), y);
        };
        WindowProduct{runs, filters + g * group, outputs, shape.across.steps, images.step(), shape.outputs, 0}.run(
            band, g * shape.group_channels(), target, finish);
      }
    });
  });
}

void run(Workspace& workspace, const ConvolutionBackwardInput& kernel) {
  if (is_for_winograd(kernel.shape)) return run_winograd(workspace, kernel);
  const ConvolutionShape shape = flattened(kernel.shape);
  const std::vector<Phase> down = phases_of(shape.down), across = phases_of(shape.across);
  Images images(workspace.images, kernel.dy.data(), shape.rows, shape.outputs, side_of(down, shape.down.steps),
                side_of(across, shape.across.steps));
  const std::size_t before_down = side_of(down, shape.down.steps).before;
  const std::size_t before_across = side_of(across, shape.across.steps).before;
  const std::size_t places = down.front().places, line = shape.across.image * shape.channels;
  for (std::size_t g = 0; g < shape.groups; ++g)
    for (const Phase& y : down)
      for (const Phase& x : across) {
        Runs runs{{}, shape.group_outputs()};
        const float* const filters = pack_transposed(workspace, kernel, shape, g, y, x);
        for (const auto& [ky, below] : y.taps)
          for (const auto& [kx, right] : x.taps)
            runs.offsets.push_back(
                static_cast<std::size_t>(below + static_cast<std::ptrdiff_t>(before_down)) * images.line() +
                static_cast<std::size_t>(right + static_cast<std::ptrdiff_t>(before_across)) * shape.outputs);
        with_fused(kernel.f, [&]<Activation f>() {
          images.for_bands([&](const Band& band, std::size_t first_row) {
            const auto target = [&](std::size_t row) -> float* {
              const std::size_t n = (first_row + row) / places, t = (first_row + row) % places;
              if (t >= y.places) return nullptr;
              return kernel.dx.data() + (n * shape.down.image + y.first + t * shape.down.stride) * line +
                     x.first * shape.channels + g * shape.group_channels();
            };
            const auto finish = [&](float* dx, std::size_t positions, std::size_t, std::size_t count) {
              multiply_by_slope<f>(positions, shape.across.stride * shape.channels, count,
                                   kernel.x.data() + (dx - kernel.dx.data()), dx);
            };
            WindowProduct{runs,       filters,       shape.group_channels(),
                          x.places,   shape.outputs, shape.across.stride * shape.channels,
                          kernel.keep}
                .run(band, g * shape.group_outputs(), target, finish);
          });
        });
      }
}

void run(Workspace& workspace, const ConvolutionBackwardWeights& kernel) {
  const ConvolutionShape shape = flattened(kernel.shape);
  float* const dw = kernel.dw.data();
  if (kernel.has_bias())
    run(workspace, BiasGradient{shape.rows * shape.positions(), shape.outputs, kernel.dy, kernel.keep,
                                kernel.dw.subspan(shape.filters())});
  if (is_for_winograd(shape)) return run_winograd(workspace, kernel);
  Images images = images_of(workspace, shape, kernel.x.data());
  const Runs runs = runs_of(shape, images.line());
  const std::size_t line = shape.across.steps * shape.outputs;
  float keep = kernel.keep;
  images.for_bands([&](const Band& band, std::size_t first_row) {
    for (std::size_t g = 0; g < shape.groups; ++g)
      for_panels(shape.group_outputs(), [&](std::size_t j, std::size_t count, bool wide) {
        const std::size_t column = g * shape.group_outputs() + j;
        const float* dy = kernel.dy.data() + first_row * line + column;
        Positions positions{band.rows, shape.across.steps, images.step(), shape.outputs};
        if (count < panel_width(count)) {
          positions.width = panel_width(count);
          dy = widened(workspace, band.rows.size() * shape.across.steps, count, positions.width, dy, shape.outputs);
        }
        const std::size_t tiles = parts(runs.depth, most_rows(wide));
        for (std::size_t r = 0; r < runs.offsets.size(); ++r)
          for (std::size_t t = 0; t < tiles; ++t) {
            const core::Range range = core::part_of(runs.depth, tiles, t);
            find_position_tile(range.size(), wide)(
                positions, band.base + runs.offsets[r] + g * shape.group_channels() + range.begin, dy, keep, count,
                shape.outputs, dw + (r * runs.depth + range.begin) * shape.outputs + column);
          }
      });
    keep = 1;
  });
}

}  // namespace paragrad::backend::cpu
