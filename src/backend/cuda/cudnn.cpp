#include "backend/cuda/cudnn.hpp"

#include <optional>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::backend::cuda {
namespace {

/// The library with its functions, or nothing if it is missing or has not all of them.
std::optional<Cudnn> load() {
  try {
    static const SharedLibrary library("cuDNN", {core::format("libcudnn.so.{}", CUDNN_MAJOR)}, "install cuDNN");
    return Cudnn{&library};
  } catch (const core::ConfigError&) {
    return std::nullopt;
  }
}

}  // namespace

const Cudnn* cudnn() {
  static const std::optional<Cudnn> loaded = load();
  return loaded ? &*loaded : nullptr;
}

}  // namespace paragrad::backend::cuda
