#pragma once

#include <string>

#include "data/sample_import.hpp"

namespace paragrad::data {

struct ImportCifarOptions : SampleImportOptions {
  std::string folder;           ///< with CIFAR's binary version
  std::string labels = "fine";  ///< of CIFAR-100: fine or coarse

  void describe(core::OptionList& list);
};

/// Converts the binary version of CIFAR-10 (data_batch_1.bin … data_batch_5.bin, test_batch.bin) or CIFAR-100 (train.bin,
/// test.bin) to a data file (write_samples) of images of 32×32 pixels, their three channels last; with the names of the
/// classes if their file is there. A record is a label, or a coarse and a fine one, and three planes of 1,024 bytes.
/// Krizhevsky, Learning multiple layers of features from tiny images, 2009. Holds the files in memory.
/// Throws ConfigError for missing and truncated files, and for labels outside the classes.
Imported import_cifar(const ImportCifarOptions& options);

}  // namespace paragrad::data
