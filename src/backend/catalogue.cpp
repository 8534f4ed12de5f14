#include <algorithm>

#include "backend/backend_info.hpp"
#include "backend/device.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::backend {

#define DEVICE(name, parameters, description) std::unique_ptr<Device> make_##name(std::string_view parameter);
#include "backend/catalogue.def"
#undef DEVICE

std::vector<DeviceEntry> device_catalogue() {
  return {
#define DEVICE(name, parameters, description) {#name, parameters, description},
#include "backend/catalogue.def"
#undef DEVICE
  };
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const DeviceEntry& entry : device_catalogue())
    names.push_back(entry.parameters.empty() ? entry.name : core::format("{}[:{}]", entry.name, entry.parameters));
  return names;
}

std::unique_ptr<Device> make_device(std::string_view name) {
  const std::size_t colon = std::min(name.find(':'), name.size());
  const std::string_view kind = name.substr(0, colon), parameter = name.substr(std::min(colon + 1, name.size()));
#define DEVICE(known, parameters, description)                                                               \
  if (kind == #known) {                                                                                      \
    if (colon < name.size() && std::string_view(parameters).empty())                                         \
      throw core::ConfigError(core::format("device '{}': {} takes no parameter after a colon", name, kind)); \
    return make_##known(parameter);                                                                          \
  }
#include "backend/catalogue.def"
#undef DEVICE
  throw core::unknown_name("device", name, device_names());
}

}  // namespace paragrad::backend
