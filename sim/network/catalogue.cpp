#include "core/errors.hpp"
#include "sim/network/fifo.hpp"
#include "sim/network/network.hpp"
#include "sim/network/segmented.hpp"

namespace paragrad::sim {

core::CatalogueInfo network_catalogue() {
  return {"network",
          "networks",
          {
#define NETWORK(name, type, summary) {#name, "", "", summary},
#include "sim/network/catalogue.def"
#undef NETWORK
          }};
}

std::unique_ptr<Network> make_network(std::string_view name, Engine& engine, const Platform& platform, int workers) {
#define NETWORK(known, type, summary) \
  if (name == #known) return std::make_unique<type>(engine, platform, workers);
#include "sim/network/catalogue.def"
#undef NETWORK
  throw core::unknown_name("network model", name, network_catalogue().names());
}

}  // namespace paragrad::sim
