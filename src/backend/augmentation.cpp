#include "backend/augmentation.hpp"

#include "core/options.hpp"

namespace paragrad::backend {

void Augmentation::describe(core::OptionList& list) {
  constexpr core::Limits<std::size_t> places{.least = 0, .most = 1024};
  list.group("Images");
  list.number("augment-pad", pad, places,
              "shift training images by up to this many places, differently in every epoch (0: not)");
  list.flag("augment-flip", flip, "exchange left and right of every other training image");
  list.number("augment-cutout", cutout, places,
              "side of a square of zeros at a place drawn for each training image (0: none)");
}

}  // namespace paragrad::backend
