#include "speech/importers.hpp"

namespace paragrad::speech {

const std::vector<data::Importer>& importers() {
  static const std::vector<data::Importer> entries{
#define IMPORTER(name) name##_importer(),
#include "speech/importers.def"
#undef IMPORTER
  };
  return entries;
}

}  // namespace paragrad::speech
