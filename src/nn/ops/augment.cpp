#include "nn/ops/augment.hpp"

#include "backend/kernels/copy.hpp"
#include "nn/ops/checks.hpp"
#include "nn/ops/op_entry.hpp"
#include "nn/pass.hpp"

namespace paragrad::nn {

std::vector<ValueType> Augment::infer(Types inputs) const {
  expect_inputs(inputs, 1);
  expect_image(inputs[0]);
  return {inputs[0]};
}

void Augment::forward(const Pass& pass) const {
  if (!pass.training()) return pass.queue().run(backend::Copy{pass.x(), pass.y()});
  const Image image = expect_image(pass.input_type(0));
  pass.queue().run(backend::Augment{pass.random(core::Purpose::augmentation), pass.row_numbers(), image.height, image.width,
                                    image.channels, augmentation_, pass.x(), pass.y()});
}

namespace {

struct AugmentOptions {
  backend::Augmentation augmentation;

  void describe(core::OptionList& list) {
    list.number("pad", augmentation.pad, {.least = 0, .most = 1024}, "largest shift in each direction");
    list.flag("flip", augmentation.flip, "exchange left and right of every other image");
    list.number("cutout", augmentation.cutout, {.least = 0, .most = 1024}, "side of a square of zeros");
  }
};

}  // namespace

OpEntry augment_op() {
  return op_entry<AugmentOptions>("augment", "images shifted, flipped or cut by chance, in training",
                                  [](const AugmentOptions& options, backend::Activation) {
                                    return std::make_shared<const Augment>(options.augmentation);
                                  });
}

}  // namespace paragrad::nn
