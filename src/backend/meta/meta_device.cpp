#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "backend/kernels.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::backend {

namespace {

/// Addresses without memory: pointers may be computed with, touching one is a segmentation fault.
core::Arena reserve(std::size_t count) {
  if (count == 0) return {};
  void* address = mmap(nullptr, count * sizeof(float), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED)
    throw core::ConfigError(
        core::format("device meta cannot reserve {} bytes of address space ({}): use fewer workers or a "
                     "smaller model",
                     count * sizeof(float), std::strerror(errno)));
  return {static_cast<float*>(address), count, [](float* data, std::size_t n) { munmap(data, n * sizeof(float)); }};
}

/// Counts work (in Device's public functions) and does none.
class MetaDevice final : public Device {
 public:
  std::string_view name() const override { return "meta"; }
  core::Arena allocate(std::size_t count) const override { return reserve(count); }

 private:
  void do_gemm(Transpose, Transpose, std::size_t, std::size_t, std::size_t, const float*, const float*, float,
               float*) override {}
  void do_affine_forward(std::size_t, std::size_t, std::size_t, const float*, const float*, const float*, Activation,
                         float*) override {}
  void do_affine_backward_input(std::size_t, std::size_t, std::size_t, const float*, const float*, const float*, Activation,
                                float*) override {}
  void do_affine_backward_weights(std::size_t, std::size_t, std::size_t, std::size_t, std::size_t, const float*,
                                  const float*, float, float*) override {}
  void do_bias_gradient(std::size_t, std::size_t, const float*, float, float*) override {}
  void do_activation_backward(Activation, std::size_t, const float*, float*) override {}
  LossSum do_softmax_cross_entropy(std::size_t, std::size_t, const std::int32_t*, float*) override { return {}; }
  LossSum do_squared_error(std::size_t, std::size_t, const std::int32_t*, float*) override { return {}; }
  void do_fill(float, std::size_t, float*) override {}
  void do_copy(std::size_t, const float*, float*) override {}
  void do_scale(float, std::size_t, float*) override {}
  void do_add(std::size_t, const float*, float*) override {}
  void do_descend(float, float, std::size_t, float*, float*) override {}
  void do_momentum_update(float, float, bool, float, std::size_t, const float*, float*, float*) override {}
  void do_block_filter(float, float, float, float, std::size_t, float*, float*, float*) override {}
  void do_look_ahead(float, std::size_t, const float*, const float*, float*) override {}
};

}  // namespace

std::unique_ptr<Device> make_meta() { return std::make_unique<MetaDevice>(); }

}  // namespace paragrad::backend
