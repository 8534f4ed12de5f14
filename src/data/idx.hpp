#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "data/dataset.hpp"

namespace paragrad::data {

struct ImportIdxOptions {
  /// A folder with the four MNIST files under their usual names (train-images-idx3-ubyte and so on, optionally with .gz);
  /// or leave it empty and name the files below.
  std::string folder;
  std::string train_images, train_labels, test_images, test_labels;
  std::string out;           ///< the data file to write
  std::string name;          ///< of the data set
  std::string source;        ///< where the files come from, stored as metadata
  std::string licence;       ///< stored as metadata
  std::size_t valid = 5000;  ///< samples of the training set that become the validation set, drawn at random
  std::uint64_t seed = 1;    ///< for that draw
  std::size_t classes = 0;   ///< 0: the largest training label + 1
};

/// Converts four IDX files to a data file: uint8 features with scale 1/255, and a validation set taken from the training
/// set (both parts keep the order of the files). Holds the decompressed files in memory.
/// Throws ConfigError for invalid files and for files that do not match each other.
DatasetInfo import_idx(const ImportIdxOptions& options);

}  // namespace paragrad::data
