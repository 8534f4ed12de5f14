#include "data/importer.hpp"

namespace paragrad::data {

const std::vector<Importer>& importers() {
  static const std::vector<Importer> entries{
#define IMPORTER(name) name##_importer(),
#include "data/importers.def"
#undef IMPORTER
  };
  return entries;
}

}  // namespace paragrad::data
