#include "nn/ops/image_window.hpp"

namespace paragrad::nn {
namespace {

backend::WindowSteps steps_of(std::size_t length, std::size_t places, const Window& window) {
  if (places == 0 || window.stride == 0 || window.dilation == 0)
    throw core::ConfigError("has a window without extent, stride or dilation");
  const std::size_t reach = (places - 1) * window.dilation + 1;
  backend::WindowSteps side{length, places, 0, window.stride, window.dilation};
  if (window.padding.kind == Padding::Kind::same) {
    side.steps = (length + window.stride - 1) / window.stride;
    const std::size_t seen = (side.steps - 1) * window.stride + reach;
    side.before = seen > length ? (seen - length) / 2 : 0;
    return side;
  }
  side.before = window.padding.zeros;
  const std::size_t all = length + 2 * side.before;
  if (reach > all) throw core::ConfigError(core::format("has a window of {} for an image of {}", reach, all));
  if (side.before >= reach)
    throw core::ConfigError(
        core::format("has a window of {} and {} zeros before the image: it would see nothing else", reach, side.before));
  side.steps = (all - reach) / window.stride + 1;
  return side;
}

}  // namespace

WindowPositions positions_of(const Window& window, const Image& image) {
  return {steps_of(image.height, window.height, window), steps_of(image.width, window.width, window)};
}

void WindowOptions::describe(core::OptionList& list) {
  constexpr std::size_t most = 4096;
  list.number("size", size, {.least = 1, .most = most}, "height and width of the window");
  list.number("height", height, {.least = 0, .most = most}, "height of the window (0: its size)");
  list.number("width", width, {.least = 0, .most = most}, "width of the window (0: its size)");
  list.number("stride", stride, {.least = 1, .most = most}, "distance between two of its positions");
  list.number("dilation", dilation, {.least = 1, .most = most}, "distance between two places that it sees");
  list.number("zeros", zeros, {.least = 0, .most = most},
              "zeros on every side of the image (auto: as many as divide each extent by the stride, rounded up)");
}

Window WindowOptions::window() const {
  return {height > 0 ? height : size, width > 0 ? width : size, stride, zeros ? Padding::of(*zeros) : Padding::same,
          dilation};
}

std::string describe(const Window& window) {
  std::string text = core::format("{}x{}", window.height, window.width);
  if (window.stride > 1) text += core::format("/{}", window.stride);
  if (window.dilation > 1) text += core::format(" dilated by {}", window.dilation);
  return text;
}

}  // namespace paragrad::nn
