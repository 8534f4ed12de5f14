#include "train/state/run_identity.hpp"

#include <sys/stat.h>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/sha256.hpp"
#include "data/verify.hpp"

namespace paragrad::train {
namespace {

std::string sha256_of(const std::string& text) { return core::sha256(std::as_bytes(std::span(text))); }

std::string sha256_of(const data::Partition& partition) {
  core::Sha256 hash;
  const auto add = [&](auto values) { hash.update(std::as_bytes(std::span(values))); };
  add(std::array<std::uint64_t, 3>{partition.workers(), partition.blocks(), partition.samples()});
  for (std::size_t block = 0; block < partition.blocks(); ++block)
    for (std::size_t worker = 0; worker < partition.workers(); ++worker)
      add(std::array<std::uint64_t, 1>{partition.split_range(block, worker).begin});
  if (partition.has_rows()) add(partition.rows({0, partition.samples()}));
  return hash.finish();
}

std::string sha256_of(const std::vector<std::string>& names) {
  std::string lines;
  for (const std::string& name : names) lines += core::format("{} {}\n", name.size(), name);
  return sha256_of(lines);
}

}  // namespace

std::string RunIdentity::sha256() const { return sha256_of(options_sha256 + data_sha256 + partition_sha256); }

RunIdentity identify_run(const std::string& options, const TrainingData& source) {
  struct stat status {};
  const bool found = ::stat(source.info.path.c_str(), &status) == 0;
  return {.options_sha256 = sha256_of(options),
          .data_sha256 = source.info.content_sha256,
          .partition_sha256 = sha256_of(*source.partition),
          .classes_sha256 = source.info.class_names.empty() ? "" : sha256_of(source.info.class_names),
          .data_bytes = found ? static_cast<std::uint64_t>(status.st_size) : 0,
          .data_modified_ns = found ? status.st_mtim.tv_sec * std::int64_t{1'000'000'000} + status.st_mtim.tv_nsec : 0};
}

void check_same_run(const RunIdentity& saved, const RunIdentity& now, const std::string& data_path) {
  if (saved.data_sha256 != now.data_sha256)
    throw core::ConfigError(core::format(
        "cannot resume: '{}' is a different data set (content_sha256 {}) from that of the interrupted run ({}); give "
        "the original one, or start a new run",
        data_path, now.data_sha256, saved.data_sha256));
  if (saved.options_sha256 != now.options_sha256)
    throw core::ConfigError("cannot resume: the state was saved by a run with different options; start a new run");
  if (saved.partition_sha256 != now.partition_sha256)
    throw core::ConfigError(
        core::format("cannot resume: '{}' stores a different partition from that of the interrupted run", data_path));
  if (!saved.classes_sha256.empty() && saved.classes_sha256 != now.classes_sha256)
    throw core::ConfigError(core::format(
        "cannot resume: the classes of '{}' have other names than in the interrupted run; give the original data set",
        data_path));
  if (saved.data_bytes == now.data_bytes && saved.data_modified_ns == now.data_modified_ns) return;
  if (const auto findings = data::verify(data_path); !findings.empty())
    throw core::ConfigError(
        core::format("cannot resume: '{}' was changed after the run was interrupted: {}", data_path, findings.front()));
}

}  // namespace paragrad::train
