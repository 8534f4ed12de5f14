#include "core/errors.hpp"
#include "nn/zoo/zoo.hpp"

namespace paragrad::nn {

namespace zoo {
#define ZOO(name, description) Graph make_##name();
#include "nn/zoo/catalogue.def"
#undef ZOO
}  // namespace zoo

std::vector<ZooEntry> zoo_catalogue() {
  return {
#define ZOO(name, description) {#name, description},
#include "nn/zoo/catalogue.def"
#undef ZOO
  };
}

Graph make_zoo_model(std::string_view name) {
#define ZOO(known, description) \
  if (name == #known) return zoo::make_##known();
#include "nn/zoo/catalogue.def"
#undef ZOO
  std::vector<std::string> known;
  for (const ZooEntry& entry : zoo_catalogue()) known.push_back(entry.name);
  throw core::unknown_name("zoo model", name, known);
}

}  // namespace paragrad::nn
