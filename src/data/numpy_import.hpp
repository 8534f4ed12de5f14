#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "data/sample_import.hpp"

namespace paragrad::data {

struct ImportNumpyOptions : SampleImportOptions {
  std::string from;                 ///< an .npz file, or a folder of .npy files
  std::vector<std::string> arrays;  ///< "x_train=NAME" for arrays that do not have a usual name
  std::size_t classes = 0;          ///< 0: the largest training label + 1
  /// Of images with channels: channels-last, [samples][height][width][channels]; channels-first, [samples][channels][height]
  /// [width]; or auto: channels-last, unless the shape looks like channels-first, which is refused. sequences: x is no image
  /// but [sequences][frames][features].
  std::string layout = "auto";

  void describe(core::OptionList& list);
};

/// Converts NumPy arrays to a data file (write_samples).
///
///   x_train        [samples][features], or images [samples][height][width], [samples][height][width][channels]: uint8 is
///                  stored as it is, all other numbers as float32
///   y_train        [samples] or [samples][1] integers or texts, the classes or their names; one-hot [samples][classes]
///                  integers; or [samples] or [samples][targets] floating-point numbers, the targets
///   lengths_train  [sequences] integers, how many consecutive samples each sequence has; optional
///
/// With the layout sequences, x_train is [sequences][frames][features], y_train has [sequences][frames] in place of
/// [samples], or [sequences], a label for all frames of each; lengths_train says how many of the frames each sequence has,
/// if not all.
///
/// Likewise for x_valid, x_test, …, both sets optional. Other usual names: X_…; train_images, train_features and
/// train_labels; …_val and …_validation; and for a training set alone x, X, y and lengths.
///
/// Holds the samples of a set in memory, and the arrays of an .npz file; those of a folder are mapped. Throws ConfigError
/// for damaged files, missing arrays, other types, shapes that do not match each other, numbers that are not finite or too
/// large for float32, labels outside the classes or that no network can have as classes, and both labels and targets.
Imported import_numpy(const ImportNumpyOptions& options);

}  // namespace paragrad::data
