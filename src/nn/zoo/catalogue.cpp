#include "nn/zoo/zoo.hpp"

namespace paragrad::nn {
namespace {

const std::vector<zoo::ZooEntry>& zoo_networks() {
  static const std::vector<zoo::ZooEntry> entries{
#define ZOO(name) zoo::name##_entry(),
#include "nn/zoo/catalogue.def"
#undef ZOO
  };
  return entries;
}

}  // namespace

core::CatalogueInfo zoo_catalogue() { return core::info_of("zoo model", "zoo models", zoo_networks()); }

Graph make_zoo_model(std::string_view name) { return core::find_entry("zoo model", name, zoo_networks()).make(); }

}  // namespace paragrad::nn
