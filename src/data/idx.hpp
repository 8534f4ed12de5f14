#pragma once

#include <cstddef>
#include <string>

#include "data/sample_import.hpp"

namespace paragrad::data {

struct ImportIdxOptions : SampleImportOptions {
  /// A folder with the four MNIST files under their usual names (train-images-idx3-ubyte and so on, optionally with .gz);
  /// or leave it empty and name the files below.
  std::string folder;
  std::string train_images, train_labels, test_images, test_labels;
  std::size_t classes = 0;  ///< 0: the largest training label + 1

  void describe(core::OptionList& list);
};

/// Converts four IDX files to a data file (write_samples). Holds the decompressed files in memory. Reports the files that
/// were read and those of the folder that were not. Throws ConfigError for invalid files and for files that do not match
/// each other.
Imported import_idx(const ImportIdxOptions& options);

}  // namespace paragrad::data
