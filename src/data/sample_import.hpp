#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/import_report.hpp"

namespace paragrad::core {
class OptionList;
}

namespace paragrad::data {

/// What importers of samples have in common.
struct SampleImportOptions {
  std::string out;         ///< the data file to write
  std::string name;        ///< of the data set
  std::string source;      ///< where the files come from, stored as metadata
  std::string licence;     ///< stored as metadata
  std::size_t valid = 0;   ///< training samples, or sequences if there are any, that become the validation set
  std::size_t test = 0;    ///< and the test set; both are drawn at random
  std::uint64_t seed = 1;  ///< for that draw
  bool normalise = false;  ///< features of mean 0 and variance 1 over the training set
  /// How the network sees uint8 features that are not normalised: bytes (0 to 255 as 0 to 1), none (as they are), or auto:
  /// none if no value is above 1, otherwise bytes, which of a table is only clear if it contains 255.
  std::string scale = "auto";

 protected:
  /// table: of features that need not be images, and whose sets may all be drawn from one.
  void describe_data_file(core::OptionList& list, bool table);
  void describe_scale(core::OptionList& list);
};

/// Features as they are stored, uint8 or float32, labels and columns.
struct ImportedSamples {
  std::vector<std::uint8_t> pixels;  ///< [samples][dim], of images [height][width][channels]; empty if there are values
  std::vector<float> values;         ///< [samples][dim]
  std::vector<double> exact;         ///< [samples][dim], in place of values that are to be normalised and then rounded
  std::vector<std::int32_t> labels;  ///< [samples]; empty if there are targets
  ColumnValues columns;              ///< [samples][width]
  std::vector<std::size_t> lengths;  ///< of sequences, in samples; empty: samples are independent

  std::size_t count(std::size_t dim) const { return std::max({pixels.size(), values.size(), exact.size()}) / dim; }
  bool empty() const { return pixels.empty() && values.empty() && exact.empty(); }
};

using ImportedSubsets = std::array<ImportedSamples, 3>;  ///< by Subset; all but the training set may be empty

/// Writes a data file. Validation and test samples that are drawn from the training set keep their order, and so does the
/// rest. With `normalise`, one scale and offset in the file gives all uint8 features mean 0 and variance 1 over the training
/// set. All floating-point features of images together, and each of other features, get that mean and variance before they
/// are rounded; constant ones become 0. `info`: source_sha256, dim, image, classes or targets, class_names, and what the
/// importer reports. Throws ConfigError if too many samples are set aside, or for a subset that exists, for a label outside
/// the classes, for a training set without any contrast to normalise, and for uint8 features of which it is not clear how
/// they are scaled.
Imported write_samples(const SampleImportOptions& options, Imported info, const std::string& format,
                       ImportedSubsets subsets);

}  // namespace paragrad::data
