#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace paragrad::data {

// Implementation details of Hdf5File; include nowhere else. Identifiers are HDF5's hid_t, a 64-bit integer since HDF5 1.10.

/// The current operation, for error messages: "cannot {verb} '{object}' in '{file}': {HDF5's reason}".
struct Hdf5Action {
  std::string_view verb;
  std::string_view object;
  std::string_view file;
};

/// Returns `code` unless it is negative, HDF5's sign of failure; then throws ConfigError with the innermost reason on HDF5's
/// error stack.
std::int64_t check_hdf5(std::int64_t code, const Hdf5Action& action);

/// Owns one identifier. After writing through it, call close(): HDF5 keeps arrays below 64 KiB in memory until then, and a
/// destructor cannot report that they did not reach the disk.
class Hdf5Id {
 public:
  using Close = int (*)(std::int64_t);
  Hdf5Id(std::int64_t id, Close close, const Hdf5Action& action) : id_(check_hdf5(id, action)), close_(close) {}
  Hdf5Id(Hdf5Id&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  ~Hdf5Id() {
    if (id_ >= 0) close_(id_);
  }
  Hdf5Id(const Hdf5Id&) = delete;
  Hdf5Id& operator=(const Hdf5Id&) = delete;
  operator std::int64_t() const { return id_; }

  /// Throws ConfigError if HDF5 could not write its buffered data.
  void close(const Hdf5Action& action) { check_hdf5(close_(std::exchange(id_, -1)), action); }

 private:
  std::int64_t id_;
  Close close_;
};

/// Where a path may lead.
enum class Hdf5Path { to_array, to_group, to_object };

/// Access properties for what opens, looks for or makes an object by its path: a link to another file is not followed. That
/// file could be any that the process may read, or one that never ends, such as a pipe.
Hdf5Id within_file(Hdf5Path path, const Hdf5Action& action);

/// Whether such a link keeps an object from being opened with these properties; the reason is then on HDF5's error stack,
/// for check_hdf5.
bool leads_out_of_file(std::int64_t file, const std::string& object, std::int64_t access);

/// Stops HDF5 from printing its error stack while in scope (per thread; a library built without threads has one stack).
class QuietHdf5 {
 public:
  QuietHdf5();
  ~QuietHdf5();
  QuietHdf5(const QuietHdf5&) = delete;
  QuietHdf5& operator=(const QuietHdf5&) = delete;

 private:
  int (*print_)(std::int64_t, void*) = nullptr;
  void* print_argument_ = nullptr;
};

}  // namespace paragrad::data
