#pragma once

#include <cstddef>
#include <string>

#include "data/sample_import.hpp"

namespace paragrad::data {

struct ImportIdxOptions : SampleImportOptions {
  /// A folder with the four files of MNIST, EMNIST or QMNIST under their usual names (train-images-idx3-ubyte and so on,
  /// optionally with .gz); or leave it empty and name the files below.
  std::string folder;
  std::string prefix;  ///< what these names begin with
  std::string train_images, train_labels, test_images, test_labels;
  std::size_t classes = 0;      ///< 0: as many as the largest training label says
  std::size_t first_class = 0;  ///< its number in the files

  void describe(core::OptionList& list);
};

/// Converts four IDX files to a data file (write_samples). Holds the decompressed files in memory. Reports the files that
/// were read and those of the folder that were not. Throws ConfigError for invalid files, for files that do not match
/// each other, and for several data sets in the folder.
Imported import_idx(const ImportIdxOptions& options);

}  // namespace paragrad::data
