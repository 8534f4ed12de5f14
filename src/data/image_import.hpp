#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.hpp"

namespace paragrad::data {

/// What importers of images have in common.
struct ImageImportOptions {
  std::string out;           ///< the data file to write
  std::string name;          ///< of the data set
  std::string source;        ///< where the files come from, stored as metadata
  std::string licence;       ///< stored as metadata
  std::size_t valid = 5000;  ///< samples of the training set that become the validation set, drawn at random
  std::uint64_t seed = 1;    ///< for that draw
  bool normalise = false;    ///< features of mean 0 and variance 1 over all pixels of the training set, not from 0 to 1
};

/// Images as they are stored, channels last, and their labels.
struct LabelledImages {
  std::vector<std::uint8_t> pixels;  ///< [images][height][width][channels]
  std::vector<std::int32_t> labels;  ///< [images]
};

/// Writes a data file of uint8 features, a validation set taken from the training set; both parts keep the order of the
/// images. `info`: source_sha256, dim, image, classes and class_names. Throws ConfigError if too many samples are set aside,
/// for a label outside the classes, and for a training set without any contrast to normalise.
DatasetInfo write_images(const ImageImportOptions& options, DatasetInfo info, const std::string& format,
                         const LabelledImages& train, const LabelledImages& test);

}  // namespace paragrad::data
