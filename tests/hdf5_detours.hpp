#pragma once

#include <hdf5.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"

namespace paragrad::test {

/// Where an array of an HDF5 file may turn out to be: at the end of a link, in other files, or never written.
enum class Detour {
  none,
  elements_elsewhere,
  link_elsewhere,
  virtual_elsewhere,
  soft_link,
  link_to_itself,
  sparse,
  deflated
};
inline constexpr std::size_t detours = static_cast<std::size_t>(Detour::deflated) + 1;

/// Replaces the array of an intact file; `other` is another file, which no reader may open (ForbiddenFile).
inline void detour(const std::string& path, const std::string& array, Detour how, const std::string& other) {
  if (how == Detour::none) return;
  const auto check = [](auto code) {
    if (code < 0) throw std::runtime_error("a detour failed");
    return code;
  };
  const hid_t file = check(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
  const hid_t before = check(H5Dopen2(file, array.c_str(), H5P_DEFAULT));
  const hid_t type = check(H5Dget_type(before)), space = check(H5Dget_space(before));
  std::vector<hsize_t> shape(static_cast<std::size_t>(check(H5Sget_simple_extent_ndims(space))));
  H5Sget_simple_extent_dims(space, shape.data(), nullptr);
  check(H5Dclose(before));
  check(H5Ldelete(file, array.c_str(), H5P_DEFAULT));
  const hid_t properties = check(H5Pcreate(H5P_DATASET_CREATE));
  std::vector<hsize_t> chunk(shape.size(), 1);
  const auto create = [&](const std::vector<hsize_t>& extents) {
    const hid_t wide = check(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr));
    check(H5Dclose(check(H5Dcreate2(file, array.c_str(), type, wide, H5P_DEFAULT, properties, H5P_DEFAULT))));
    check(H5Sclose(wide));
  };
  switch (how) {
    case Detour::elements_elsewhere:
      check(H5Pset_external(properties, other.c_str(), 0, H5F_UNLIMITED));
      create(shape);
      break;
    case Detour::link_elsewhere:
      check(H5Lcreate_external(other.c_str(), array.c_str(), file, array.c_str(), H5P_DEFAULT, H5P_DEFAULT));
      break;
    case Detour::virtual_elsewhere:
      check(H5Pset_virtual(properties, space, other.c_str(), array.c_str(), space));
      create(shape);
      break;
    case Detour::soft_link:
      check(H5Lcreate_soft(("/." + array).c_str(), file, array.c_str(), H5P_DEFAULT, H5P_DEFAULT));  // a circle
      break;
    case Detour::link_to_itself:
      check(H5Lcreate_hard(file, "/", file, array.c_str(), H5P_DEFAULT, H5P_DEFAULT));
      break;
    case Detour::sparse:
      for (hsize_t& extent : shape) extent = hsize_t{1} << 40 / shape.size();
      check(H5Pset_chunk(properties, static_cast<int>(chunk.size()), chunk.data()));
      create(shape);
      break;
    default:  // a megabyte or so, of which a deflated file keeps a thousandth
      shape[0] += 1 << 17;
      std::ranges::transform(shape, chunk.begin(), [](hsize_t extent) { return std::max<hsize_t>(extent, 1); });
      check(H5Pset_chunk(properties, static_cast<int>(chunk.size()), chunk.data()));
      check(H5Pset_deflate(properties, 9));
      check(H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY));
      create(shape);
  }
  check(H5Pclose(properties));
  check(H5Sclose(space));
  check(H5Tclose(type));
  check(H5Fclose(file));
}

/// A file that no reader may open.
class ForbiddenFile {
 public:
  explicit ForbiddenFile(std::string path) : path_(std::move(path)), events_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    if (::inotify_add_watch(events_, path_.c_str(), IN_OPEN) < 0) throw std::runtime_error("cannot watch " + path_);
  }
  ~ForbiddenFile() { ::close(events_); }
  ForbiddenFile(const ForbiddenFile&) = delete;

  const std::string& path() const { return path_; }

  /// Fails the test case if the file is opened before the end of the scope.
  class Watch {
   public:
    explicit Watch(const ForbiddenFile& file) : file_(file) { static_cast<void>(file.opened()); }
    ~Watch() {
      if (file_.opened()) FAIL_CHECK("another file was opened");
    }
    Watch(const Watch&) = delete;

   private:
    const ForbiddenFile& file_;
  };

 private:
  /// Since the last call.
  bool opened() const {
    std::array<char, 4096> buffer{};
    bool any = false;
    while (::read(events_, buffer.data(), buffer.size()) > 0) any = true;
    return any;
  }

  std::string path_;
  int events_;
};

}  // namespace paragrad::test
