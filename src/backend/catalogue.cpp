#include <algorithm>

#include "backend/activation.hpp"
#include "backend/backend_info.hpp"
#include "backend/device.hpp"
#include "core/errors.hpp"
#include "core/options.hpp"

namespace paragrad::backend {

#define DEVICE(name, parameters, computes, description) std::unique_ptr<Device> make_##name(std::string_view parameter);
#include "backend/catalogue.def"
#undef DEVICE

core::CatalogueInfo device_catalogue() {
  core::CatalogueInfo devices{"device", "devices", {}};
#define DEVICE(device, with, computes, description) \
  devices.entries.push_back({.name = #device, .parameter = with, .summary = description});
#include "backend/catalogue.def"
#undef DEVICE
  return devices;
}

core::CatalogueInfo activation_catalogue() {
  core::CatalogueInfo functions{"activation function", "activation functions", {}, "`model` 784-512-10:{}"};
#define ACTIVATION(function, Type) \
  functions.entries.push_back({.name = #function, .summary = Type::summary, .source = Type::source});
#include "backend/activations.def"
#undef ACTIVATION
  return functions;
}

namespace {

using Maker = std::unique_ptr<Device> (*)(std::string_view parameter);

struct DeviceName {
  Maker make;
  std::string_view parameter;
  bool computes;
};

/// Throws ConfigError for an unknown name.
DeviceName parsed(std::string_view name) {
  const std::size_t colon = std::min(name.find(':'), name.size());
  const std::string_view kind = name.substr(0, colon), parameter = name.substr(std::min(colon + 1, name.size()));
#define DEVICE(known, parameters, computes, description)                                                     \
  if (kind == #known) {                                                                                      \
    if (colon < name.size() && std::string_view(parameters).empty())                                         \
      throw core::ConfigError(core::format("device '{}': {} takes no parameter after a colon", name, kind)); \
    return {make_##known, parameter, computes};                                                              \
  }
#include "backend/catalogue.def"
#undef DEVICE
  std::vector<std::string> known;
  for (const core::EntryInfo& entry : device_catalogue().entries)
    known.push_back(entry.parameter.empty() ? entry.name : core::format("{}[{}]", entry.name, entry.parameter));
  throw core::unknown_name("device", name, known);
}

}  // namespace

std::unique_ptr<Device> make_device(std::string_view name) {
  const DeviceName device = parsed(name);
  return device.make(device.parameter);
}

bool device_computes(std::string_view name) { return parsed(name).computes; }

}  // namespace paragrad::backend
