#include "core/errors.hpp"
#include "sim/network/fifo.hpp"
#include "sim/network/network.hpp"
#include "sim/network/segmented.hpp"

namespace paragrad::sim {

std::vector<std::string> network_names() {
  return {
#define NETWORK(name, type, description) #name,
#include "sim/network/catalogue.def"
#undef NETWORK
  };
}

std::unique_ptr<Network> make_network(std::string_view name, Engine& engine, const Platform& platform, int workers) {
#define NETWORK(known, type, description) \
  if (name == #known) return std::make_unique<type>(engine, platform, workers);
#include "sim/network/catalogue.def"
#undef NETWORK
  throw core::unknown_name("network model", name, network_names());
}

}  // namespace paragrad::sim
