#pragma once

#include <vector>

#include "data/importer.hpp"

namespace paragrad::speech {

#define IMPORTER(name) data::Importer name##_importer();
#include "speech/importers.def"
#undef IMPORTER

/// Those of recorded speech.
const std::vector<data::Importer>& importers();

}  // namespace paragrad::speech
