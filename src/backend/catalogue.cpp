#include "backend/backend_info.hpp"
#include "backend/kernels.hpp"
#include "core/errors.hpp"

namespace paragrad::backend {

#define DEVICE(name, description) std::unique_ptr<Device> make_##name();
#include "backend/catalogue.def"
#undef DEVICE

std::vector<DeviceEntry> device_catalogue() {
  return {
#define DEVICE(name, description) {#name, description},
#include "backend/catalogue.def"
#undef DEVICE
  };
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const DeviceEntry& entry : device_catalogue()) names.push_back(entry.name);
  return names;
}

std::unique_ptr<Device> make_device(std::string_view name) {
#define DEVICE(known, description) \
  if (name == #known) return make_##known();
#include "backend/catalogue.def"
#undef DEVICE
  throw core::unknown_name("device", name, device_names());
}

}  // namespace paragrad::backend
