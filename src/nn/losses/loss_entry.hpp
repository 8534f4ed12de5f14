#pragma once

#include <memory>
#include <utility>

#include "core/options.hpp"
#include "nn/loss.hpp"

namespace paragrad::nn {

/// An entry whose loss is made of its options.
template <class Made, class Options>
LossEntry loss_entry_of(core::EntryInfo info) {
  info.options = core::options_of<Options>();
  return {.info = std::move(info), .make = [](const core::Settings& settings) {
            return std::make_unique<const Made>(core::read_options<Options>(settings));
          }};
}

// <name>_loss(), each in <name>.cpp
#define LOSS(name) LossEntry name##_loss();
#include "nn/losses/catalogue.def"
#undef LOSS

}  // namespace paragrad::nn
