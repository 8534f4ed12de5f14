#pragma once

#include <string>
#include <vector>

#include "data/sample_import.hpp"

namespace paragrad::data {

struct ImportFolderOptions : SampleImportOptions {
  std::string folder;
  /// Its subfolders; train: "." for the folder itself, which it also is if it has no folder `train` but folders with images;
  /// test: or how many images of the training set are drawn for it.
  std::string train = "train", test = "test";
  std::string validation;     ///< likewise; empty: val, valid or validation, if there is one
  std::size_t channels = 0;   ///< 1 (grey) or 3 (red, green, blue); 0: those of the first training image
  bool skip_damaged = false;  ///< leave out files that cannot be decoded

  void describe(core::OptionList& list);
};

/// Converts folders of images to a data file (write_samples): FOLDER/train/CLASS/*.png or *.jpg (also .jpeg, .jpe, .jfif),
/// likewise for the test set and, if there is one, the validation set. Classes are the subfolders of the training set in the
/// order of their names; images keep that order, and within a class that of their names. Names that begin with a dot are
/// ignored; other files and folders that are not read are reported. All images must be equally large; grey ones become
/// coloured if the data set is. Holds the decoded images in memory. Throws ConfigError for missing folders, folders without
/// images, other sets among the classes, several folders for the validation set, test classes that the training set lacks,
/// images that cannot be decoded (picture.hpp) unless they are to be skipped, or have another size, and coloured images
/// where the data set is grey.
Imported import_image_folder(const ImportFolderOptions& options);

}  // namespace paragrad::data
