#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "data/image_import.hpp"

namespace paragrad::data {

struct ImportNpzOptions : ImageImportOptions {
  std::string file;
  std::vector<std::string> arrays;  ///< training images, training labels, test images, test labels; empty: usual names
  std::size_t classes = 0;          ///< 0: the largest training label + 1
};

/// Converts NumPy's .npz, compressed or not, to a data file (write_images). Images are uint8 [samples][height][width] or
/// [samples][height][width][channels], or features [samples][features]; labels are integers [samples] or [samples][1].
/// Usual names: x_train, y_train, x_test, y_test (Keras), or train_images, train_labels, test_images, test_labels.
/// Holds the four arrays in memory. Throws ConfigError for damaged files, missing arrays, other types, shapes that do not
/// match each other, and labels outside the classes.
DatasetInfo import_npz(const ImportNpzOptions& options);

}  // namespace paragrad::data
