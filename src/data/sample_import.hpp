#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.hpp"

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
};

/// Of collections with a test set of their own and many images.
struct ImageImportOptions : SampleImportOptions {
  ImageImportOptions() { valid = 5000; }
};

/// Features as they are stored, uint8 or float32, and labels or targets.
struct ImportedSamples {
  std::vector<std::uint8_t> pixels;  ///< [samples][dim], of images [height][width][channels]; empty if there are values
  std::vector<float> values;         ///< [samples][dim]
  std::vector<std::int32_t> labels;  ///< [samples]; empty if there are targets
  std::vector<float> targets;        ///< [samples][DatasetInfo::targets]
  std::vector<std::size_t> lengths;  ///< of sequences, in samples; empty: samples are independent

  std::size_t count(std::size_t dim) const { return std::max(pixels.size(), values.size()) / dim; }
  bool empty() const { return pixels.empty() && values.empty(); }
};

using ImportedSubsets = std::array<ImportedSamples, 3>;  ///< by Subset; all but the training set may be empty

/// Writes a data file. Validation and test samples that are drawn from the training set keep their order, and so does the
/// rest. uint8 features are scaled to go from 0 to 1. With `normalise`, one scale and offset gives all uint8 features, or
/// all features of images, mean 0 and variance 1; other float features get a mean and a variance each, constant ones become
/// 0. `info`: source_sha256, dim, image, classes or targets, and class_names. Throws ConfigError if too many samples are set
/// aside, or for a subset that exists, for a label outside the classes, and for a training set without any contrast to
/// normalise.
DatasetInfo write_samples(const SampleImportOptions& options, DatasetInfo info, const std::string& format,
                          ImportedSubsets subsets);

}  // namespace paragrad::data
