#include "backend/backend_info.hpp"
#include "backend/device.hpp"
#include "core/errors.hpp"

namespace paragrad::backend {

std::string cuda_description() { return "none"; }

std::unique_ptr<Device> make_cuda(std::string_view) {
  throw core::ConfigError("device 'cuda' is not part of this build of paragrad: choose the device cpu");
}

}  // namespace paragrad::backend
