#include "backend/cuda/cudnn.hpp"

#include <optional>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::backend::cuda {
namespace {

std::optional<SharedLibrary> open() {
  try {
    return SharedLibrary("cuDNN", {core::format("libcudnn.so.{}", CUDNN_MAJOR)}, "install cuDNN");
  } catch (const core::ConfigError&) {
    return std::nullopt;
  }
}

}  // namespace

const Cudnn* cudnn() {
  static const std::optional<SharedLibrary> library = open();
  static const std::optional<Cudnn> loaded = library ? std::optional(Cudnn{&*library}) : std::nullopt;
  return loaded ? &*loaded : nullptr;
}

}  // namespace paragrad::backend::cuda
