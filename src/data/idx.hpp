#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "data/dataset.hpp"

namespace paragrad::data {

struct ImportIdxOptions {
  /// A folder with the four files of MNIST under their usual names, train-images-idx3-ubyte and so on, also with .gz;
  /// or leave it empty and name the files.
  std::string folder;
  std::string train_images, train_labels, test_images, test_labels;
  std::string out;           ///< the data file to write
  std::string name;          ///< of the data set
  std::string source;        ///< where the files come from, for the record
  std::string licence;       ///< for the record
  std::size_t valid = 5000;  ///< samples of the training set that become the validation set, drawn at random
  std::uint64_t seed = 1;    ///< of that draw
  std::size_t classes = 0;   ///< 0: the largest training label + 1
};

/// Four IDX files -> data file: uint8 features with scale 1/255, and a validation set cut out of the training set (both
/// parts keep the order of the files). Holds the decompressed files in memory.
/// Throws ConfigError for files that are not what they should be, or do not fit each other.
DatasetInfo import_idx(const ImportIdxOptions& options);

}  // namespace paragrad::data
