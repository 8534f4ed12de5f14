#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "train/state/trained_on.hpp"

namespace paragrad::train {

/// A trained model on disk: HDF5 with /parameters and their description.
struct Checkpoint {
  std::string model;           ///< as given to --model
  std::string content_sha256;  ///< of the data set it was trained on
  std::uint64_t epoch = 0;     ///< completed
  std::vector<float> parameters;
  std::string loss = "cross_entropy";  ///< as given to --loss
  TrainedOn data{};
};

/// SHA-256 of the parameter bytes (float32, little-endian): identifies a training's result.
std::string parameters_sha256(std::span<const float> parameters);

/// Writes a temporary file and renames it, so the previous checkpoint survives a full disk. Throws ConfigError.
void write_checkpoint(const std::string& path, const Checkpoint& checkpoint);

/// Throws ConfigError: missing, foreign or damaged file (its checksum is verified).
Checkpoint read_checkpoint(const std::string& path);

}  // namespace paragrad::train
