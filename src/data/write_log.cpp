#include "data/write_log.hpp"

#include <algorithm>
#include <system_error>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "data/hdf5_file.hpp"
#include "system/files.hpp"

namespace paragrad::data {
namespace {

/// Checksum of the bytes [begin, end) of a file, or of fewer if it ends before.
std::uint64_t checksum_of(const Hdf5File& file, std::uint64_t begin, std::uint64_t end) {
  std::vector<char> chunk(std::min<std::uint64_t>(end - begin, std::uint64_t{1} << 20));
  core::Checksum checksum;
  try {
    while (begin < end) {
      const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(end - begin, chunk.size()));
      const std::size_t got = system::read_at(file.descriptor(), begin, std::span(chunk).first(wanted));
      checksum.update(std::as_bytes(std::span(chunk).first(got)));
      if (got < wanted) break;
      begin += got;
    }
  } catch (const std::system_error& error) {
    throw core::ConfigError(core::format("cannot read back '{}': {}", file.path(), error.code().message()));
  }
  return checksum.value();
}

core::ConfigError unlike_written(const std::string& object, const Hdf5File& file) {
  return core::ConfigError(core::format(
      "cannot write '{}': its '{}' reads back differently from what was written; check the disk", file.path(), object));
}

}  // namespace

void WriteLog::add(const std::string& array, std::uint64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  auto& [pieces, last] = arrays_[array];
  if (pieces.empty() || pieces.back().end != offset) {
    pieces.push_back({offset, offset, 0});
    last = {};
  }
  last.update(bytes);
  pieces.back().end += bytes.size();
  pieces.back().checksum = last.value();
}

void WriteLog::set_attribute(const std::string& object, const std::string& name, std::span<const std::byte> value) {
  attributes_[{object, name}] = core::checksum(value);
}

void WriteLog::compare_with(const Hdf5File& file) const {
  for (const auto& [array, written] : arrays_) {
    const auto offset = file.array_info(array).file_offset;
    for (const Piece& piece : written.pieces)
      if (!offset || checksum_of(file, *offset + piece.begin, *offset + piece.end) != piece.checksum)
        throw unlike_written(array, file);
  }
  for (const auto& [attribute, checksum] : attributes_)
    if (core::checksum(file.stored_attribute(attribute.first, attribute.second)) != checksum)
      throw unlike_written(attribute.first + " " + attribute.second, file);
}

}  // namespace paragrad::data
