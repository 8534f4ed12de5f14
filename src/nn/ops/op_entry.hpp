#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "core/limits.hpp"
#include "core/options.hpp"
#include "nn/op.hpp"

namespace paragrad::nn {

/// An operation that networks in text can name, see node_text.hpp.
struct OpEntry {
  core::EntryInfo info;
  std::size_t least_inputs = 1, most_inputs = 1;

  /// next: the activation function that follows, for the initial weights.
  std::function<std::shared_ptr<const Op>(const core::Settings&, backend::Activation next)> make;
};

/// An entry whose operation is made by `make(options, next)`.
template <class Options, class Make>
OpEntry op_entry(std::string name, std::string summary, Make make) {
  return {.info = {.name = std::move(name), .summary = std::move(summary), .options = core::options_of<Options>()},
          .make = [make](const core::Settings& settings, backend::Activation next) -> std::shared_ptr<const Op> {
            return make(core::read_options<Options>(settings), next);
          }};
}

inline void expect_outputs(std::size_t outputs) {
  if (outputs == 0) throw core::OptionError("outputs", "it must be given, as in outputs=64");
}

// <name>_op(), each in <name>.cpp
#define OP(name) OpEntry name##_op();
#include "nn/ops/catalogue.def"
#undef OP

}  // namespace paragrad::nn
