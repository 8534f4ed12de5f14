#include "train/state/checkpoint.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/sha256.hpp"
#include "data/hdf5_file.hpp"
#include "data/trial_read.hpp"

namespace paragrad::train {
namespace {

constexpr const char* checkpoint_format = "paragrad-checkpoint";
constexpr std::uint64_t checkpoint_version = 2;

}  // namespace

std::string parameters_sha256(std::span<const float> parameters) { return core::sha256(std::as_bytes(parameters)); }

void write_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  auto file = data::Hdf5File::create(path, system::Links::replace);
  file.set_text("/", "format", checkpoint_format);
  file.set_count("/", "version", checkpoint_version);
  file.set_text("/", "model", checkpoint.model);
  file.set_text("/", "loss", checkpoint.loss);
  file.set_text("/", "dataset_sha256", checkpoint.content_sha256);
  write_trained_on(file, checkpoint.data);
  file.set_count("/", "epoch", checkpoint.epoch);
  file.set_text("/", "parameters_sha256", parameters_sha256(checkpoint.parameters));
  file.write("/parameters", std::span<const float>(checkpoint.parameters));
  file.finish();
}

namespace {

/// for_real: false only checks whether HDF5 can read the file; contiguous parameters then need not be read.
Checkpoint read(const std::string& path, bool for_real) {
  const auto file = data::Hdf5File::open(path);
  if (!file.has_attribute("/", "format") || file.text("/", "format") != checkpoint_format)
    throw core::ConfigError(core::format("'{}' is an HDF5 file but not a Paragrad checkpoint", path));
  if (const auto version = file.count("/", "version"); version != checkpoint_version)
    throw core::ConfigError(core::format("checkpoint '{}' has format version {}; this program reads version {}", path,
                                         version, checkpoint_version));
  Checkpoint checkpoint{file.text("/", "model"), file.text("/", "dataset_sha256"), file.count("/", "epoch"), {}};
  if (file.has_attribute("/", "loss")) checkpoint.loss = file.text("/", "loss");  // not in older checkpoints
  checkpoint.data = read_trained_on(file);
  const auto sha256 = file.text("/", "parameters_sha256");
  if (!for_real && file.array_info("/parameters").file_offset) return checkpoint;
  checkpoint.parameters = file.read<float>("/parameters");
  if (parameters_sha256(checkpoint.parameters) != sha256)
    throw core::ConfigError(core::format("checkpoint '{}' is damaged: its parameters do not match their checksum", path));
  return checkpoint;
}

}  // namespace

Checkpoint read_checkpoint(const std::string& path) {
  return data::read_after_trial(path, [&](bool for_real) { return read(path, for_real); });
}

}  // namespace paragrad::train
