#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.hpp"
#include "data/hdf5_file.hpp"
#include "data/writer.hpp"
#include "temporary_folder.hpp"

namespace paragrad::data {

using test::read_text;
using test::TemporaryFolder;
using test::write_text;

/// Overwrites one element of an array where it lies in the file, behind the back of everything.
template <class T>
void patch(const std::string& path, const std::string& array, std::size_t element, T value) {
  const auto offset = Hdf5File::open(path).array_info(array).file_offset.value();
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(offset + element * sizeof(T)));
  file.write(reinterpret_cast<const char*>(&value), sizeof(T));
}

/// Row r of a subset of samples_file(): features 3r, 3r+1, 3r+2 (modulo 251), label r modulo 4.
inline std::uint8_t feature(std::size_t row, std::size_t d) { return static_cast<std::uint8_t>((3 * row + d) % 251); }

/// A data file of 3 uint8 features, 4 classes, scale 0.5, offset -1; train has sequences of two rows.
inline DatasetInfo samples_file(const std::string& path, std::size_t train = 20, std::size_t valid = 5, std::size_t test = 0,
                                const std::string& name = "samples") {
  DatasetInfo info;
  info.name = name;
  info.source = "made up";
  info.licence = "none";
  info.source_sha256 = {"a: 1", "b: 2"};
  info.encoding.type = core::NumberType::uint8;
  info.encoding.scale = 0.5f;
  info.encoding.offset = -1;
  info.dim = 3;
  info.classes = 4;
  DatasetWriter writer(path, info);
  const std::size_t counts[] = {train, valid, test};
  for (const auto subset : {Subset::train, Subset::valid, Subset::test}) {
    const std::size_t rows = counts[static_cast<std::size_t>(subset)];
    writer.begin(subset, rows);
    for (std::size_t r = 0; r < rows; ++r) {
      const std::vector<std::uint8_t> features{feature(r, 0), feature(r, 1), feature(r, 2)};
      const std::vector<std::int32_t> labels{static_cast<std::int32_t>(r % 4)};
      writer.append(std::span<const std::uint8_t>(features), std::span<const std::int32_t>(labels));
      if (subset == Subset::train && (r % 2 == 1 || r + 1 == rows)) writer.end_sequence();
    }
  }
  return writer.finish();
}

/// A data file of float features, two classes: class 0 around -1, class 1 around +1 (feature d of row r is ±1 + d / 8).
inline DatasetInfo float_file(const std::string& path, std::size_t rows, std::size_t dim) {
  DatasetInfo info;
  info.name = "floats";
  info.dim = dim;
  info.classes = 2;
  DatasetWriter writer(path, info);
  writer.begin(Subset::train, rows);
  std::vector<float> features;
  std::vector<std::int32_t> labels;
  for (std::size_t r = 0; r < rows; ++r) {
    labels.push_back(static_cast<std::int32_t>(r % 2));
    for (std::size_t d = 0; d < dim; ++d) features.push_back((r % 2 == 0 ? -1.f : 1.f) + static_cast<float>(d) / 8);
  }
  writer.append(std::span<const float>(features), std::span<const std::int32_t>(labels));
  return writer.finish();
}

}  // namespace paragrad::data
