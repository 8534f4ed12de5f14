#pragma once

#include <cstddef>

namespace paragrad::core {
class OptionList;
}

namespace paragrad::backend {

/// Small changes of an image by chance, which leave its class as it is.
struct Augmentation {
  std::size_t pad = 0;     ///< places on each side: a part of the padded image's size is cut out, zero beyond the image
  bool flip = false;       ///< left and right, every other time
  std::size_t cutout = 0;  ///< side of a square of zeros around a place of the image (DeVries and Taylor, arXiv 1708.04552)

  void describe(core::OptionList& list);

  bool any() const { return pad > 0 || flip || cutout > 0; }
};

}  // namespace paragrad::backend
