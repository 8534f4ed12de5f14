#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/write_log.hpp"
#include "system/file_replacement.hpp"

namespace paragrad::data {

enum class ElementType { uint8, uint16, int32, uint32, int64, uint64, float32, float64, other };

std::string_view to_string(ElementType type);
std::size_t bytes_of(ElementType type);  ///< 0 for `other`

template <class T>
ElementType element_type_of() = delete;
template <>
constexpr ElementType element_type_of<std::uint8_t>() {
  return ElementType::uint8;
}
template <>
constexpr ElementType element_type_of<std::uint16_t>() {
  return ElementType::uint16;
}
template <>
constexpr ElementType element_type_of<std::int32_t>() {
  return ElementType::int32;
}
template <>
constexpr ElementType element_type_of<std::uint32_t>() {
  return ElementType::uint32;
}
template <>
constexpr ElementType element_type_of<std::int64_t>() {
  return ElementType::int64;
}
template <>
constexpr ElementType element_type_of<std::uint64_t>() {
  return ElementType::uint64;
}
template <>
constexpr ElementType element_type_of<float>() {
  return ElementType::float32;
}
template <>
constexpr ElementType element_type_of<double>() {
  return ElementType::float64;
}

struct Hdf5ArrayInfo {
  ElementType type = ElementType::other;
  std::string other_type;  ///< what the elements are, if they are `other`
  std::vector<std::size_t> shape;
  /// Offset of the elements in the file if they are contiguous and in this machine's byte order, so that the file can be
  /// mapped. nullopt for empty, chunked, compressed or external arrays.
  std::optional<std::uint64_t> file_offset;

  std::string type_name() const;
  std::size_t elements() const;      ///< throws ConfigError if the product overflows
  std::size_t row_elements() const;  ///< elements per index of the first dimension
};

/// One HDF5 file: arrays of numbers, groups, and attributes of type text, list of texts, number, count.
///
/// Objects are named by their absolute path, "/train/features". A new file has a temporary name until finish() renames it;
/// a failure before that (full disk, exception, kill) leaves an existing file unchanged.
/// Files contain no timestamps: the same writes give the same bytes. Not thread-safe.
///
/// Every failure throws core::ConfigError with one sentence that names file, object and reason.
class Hdf5File {
 public:
  /// Whether the path names an HDF5 file.
  static bool is_one(const std::string& path);

  /// Read-only, without file locks (network file systems often refuse them).
  static Hdf5File open(const std::string& path);
  /// A new file, replacing `path` at finish().
  static Hdf5File create(const std::string& path, system::Links links = system::Links::follow);
  /// A modified copy of an existing file, replacing it at finish(). Costs a copy of the file (free if the file system can
  /// share blocks); a change in place would leave it unreadable if the process died half-way.
  static Hdf5File revise(const std::string& path);

  Hdf5File(Hdf5File&&) noexcept;
  Hdf5File& operator=(Hdf5File&&) = delete;
  ~Hdf5File();  ///< closes; discards a new file that was not finished

  /// Closes the file, reads it back and compares, flushes it to disk and renames it. Only for files from create() and
  /// revise().
  void finish();

  const std::string& path() const { return path_; }
  int descriptor() const;  ///< the POSIX descriptor, for mapping; belongs to this object

  /// Whether HDF5's checksums cover all that it interprets when it reads this file: everything but the elements of arrays.
  /// Costs a look at each object.
  bool has_checksums() const { return has_checksums("/", 0); }

  bool exists(const std::string& object) const;
  std::vector<std::string> children(const std::string& group) const;  ///< names in a group, sorted
  void create_group(const std::string& group);                        ///< and missing parents

  /// Creates a contiguous array with undefined content, to be filled by write_rows. Creates missing groups.
  void create_array(const std::string& array, ElementType type, const std::vector<std::size_t>& shape);
  Hdf5ArrayInfo array_info(const std::string& array) const;

  /// A new 1-D array.
  template <class T>
  void write(const std::string& array, std::span<const T> values) {
    write(array, values, {values.size()});
  }
  /// A new array of any shape, rows first.
  template <class T>
  void write(const std::string& array, std::span<const T> values, const std::vector<std::size_t>& shape) {
    create_array(array, element_type_of<T>(), shape);
    write_elements(array, 0, element_type_of<T>(), values.data(), values.size());
  }
  /// Whole rows of an existing array, from `first_row`; a row is everything under one index of the first dimension.
  template <class T>
  void write_rows(const std::string& array, std::size_t first_row, std::span<const T> values) {
    write_elements(array, first_row, element_type_of<T>(), values.data(), values.size());
  }
  /// All elements. The stored type must be T (in either byte order).
  template <class T>
  std::vector<T> read(const std::string& array) const {
    std::vector<T> values(array_info(array).elements());
    read_rows(array, 0, std::span<T>(values));
    return values;
  }
  /// Whole rows from `first_row` into `values`.
  template <class T>
  void read_rows(const std::string& array, std::size_t first_row, std::span<T> values) const {
    transfer_rows(array, first_row, element_type_of<T>(), nullptr, values.size(), values.data());
  }

  // Attributes of a group or an array; "/" is the file itself. Setting replaces.
  bool has_attribute(const std::string& object, const std::string& name) const;
  void set_text(const std::string& object, const std::string& name, const std::string& value);
  void set_texts(const std::string& object, const std::string& name, const std::vector<std::string>& values);
  void set_number(const std::string& object, const std::string& name, double value);
  void set_count(const std::string& object, const std::string& name, std::uint64_t value);
  std::string text(const std::string& object, const std::string& name) const;
  std::vector<std::string> texts(const std::string& object, const std::string& name) const;
  double number(const std::string& object, const std::string& name) const;
  std::uint64_t count(const std::string& object, const std::string& name) const;
  /// The stored bytes of the value; not for variable-length text.
  std::vector<std::byte> stored_attribute(const std::string& object, const std::string& name) const;

 private:
  Hdf5File(std::string path, std::int64_t file, std::unique_ptr<system::FileReplacement> replacement);
  void create_parents(const std::string& object);
  bool has_checksums(const std::string& object, int depth) const;
  /// type, space: HDF5 identifiers. value: the bytes to store.
  void set(const std::string& object, const std::string& name, std::int64_t type, std::int64_t space,
           std::span<const std::byte> value);
  void write_elements(const std::string& array, std::size_t first_row, ElementType type, const void* source,
                      std::size_t count);
  /// Reads (to `target`) or writes (from `source`) `count` elements from `first_row` on; returns the array's type and shape.
  Hdf5ArrayInfo transfer_rows(const std::string& array, std::size_t first_row, ElementType type, const void* source,
                              std::size_t count, void* target) const;

  std::string path_;
  std::int64_t file_;
  std::unique_ptr<system::FileReplacement> replacement_;  // while under construction
  std::unique_ptr<WriteLog> written_;                     // meanwhile
};

}  // namespace paragrad::data
