#include "data/hdf5_file.hpp"

#include <hdf5.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "data/hdf5_handle.hpp"

namespace paragrad::data {
namespace {

/// Access properties: no locks; closing a file also closes everything opened in it.
Hdf5Id access_properties(const Hdf5Action& action) {
  Hdf5Id properties(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, action);
  check_hdf5(H5Pset_fclose_degree(properties, H5F_CLOSE_STRONG), action);
  check_hdf5(H5Pset_file_locking(properties, false, true), action);
  // Format 1.10: checksums over all metadata (has_checksums), attributes beyond 64 KiB; read by every tool in use.
  check_hdf5(H5Pset_libver_bounds(properties, H5F_LIBVER_V110, H5F_LIBVER_LATEST), action);
  // Large arrays begin at a page: a row of 4096 bytes then touches one page of the map.
  check_hdf5(H5Pset_alignment(properties, 65536, 4096), action);
  return properties;
}

std::int64_t open_file(const std::string& path, const std::string& shown, unsigned mode, std::string_view verb) {
  const Hdf5Action action{verb, "", shown};
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    throw core::ConfigError(core::format("cannot {} '{}': {}", verb, shown, std::strerror(errno)));
  if (S_ISDIR(status.st_mode)) throw core::ConfigError(core::format("cannot {} '{}': it is a folder", verb, shown));
  if (!S_ISREG(status.st_mode))
    throw core::ConfigError(core::format("cannot {} '{}': it is not a regular file", verb, shown));
  if (H5Fis_hdf5(path.c_str()) == 0)
    throw core::ConfigError(core::format("cannot {} '{}': it is not an HDF5 file", verb, shown));
  return check_hdf5(H5Fopen(path.c_str(), mode, access_properties(action)), action);
}

}  // namespace

Hdf5File::Hdf5File(std::string path, std::int64_t file, std::unique_ptr<system::FileReplacement> replacement)
    : path_(std::move(path)), file_(file), replacement_(std::move(replacement)) {
  if (replacement_ != nullptr) written_ = std::make_unique<WriteLog>();
}

Hdf5File::Hdf5File(Hdf5File&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      replacement_(std::move(other.replacement_)),
      written_(std::move(other.written_)) {}

Hdf5File::~Hdf5File() {
  if (file_ < 0) return;
  const QuietHdf5 quiet;
  H5Fclose(file_);
}

bool Hdf5File::is_one(const std::string& path) {
  const QuietHdf5 quiet;
  return H5Fis_hdf5(path.c_str()) > 0;
}

Hdf5File Hdf5File::open(const std::string& path) {
  const QuietHdf5 quiet;
  return {path, open_file(path, path, H5F_ACC_RDONLY, "open"), nullptr};
}

Hdf5File Hdf5File::create(const std::string& path, system::Links links) {
  const QuietHdf5 quiet;
  const Hdf5Action action{"create", "", path};
  auto replacement = std::make_unique<system::FileReplacement>(path, links);
  const Hdf5Id properties(H5Pcreate(H5P_FILE_CREATE), H5Pclose, action);
  check_hdf5(H5Pset_obj_track_times(properties, false), action);  // of the root group
  const Hdf5Id access = access_properties(action);  // kept until the check: closing it would clear HDF5's reason
  const auto file = H5Fcreate(replacement->temporary_path().c_str(), H5F_ACC_TRUNC, properties, access);
  return {path, check_hdf5(file, action), std::move(replacement)};
}

Hdf5File Hdf5File::revise(const std::string& path) {
  const QuietHdf5 quiet;
  auto replacement = std::make_unique<system::FileReplacement>(path);
  replacement->copy_original();
  const auto file = open_file(replacement->temporary_path(), path, H5F_ACC_RDWR, "change");
  return {path, file, std::move(replacement)};
}

void Hdf5File::finish() {
  if (replacement_ == nullptr || file_ < 0) throw std::logic_error("Hdf5File::finish: not a file under construction");
  const QuietHdf5 quiet;
  const Hdf5Action action{"write", "", path_};
  check_hdf5(H5Fflush(file_, H5F_SCOPE_GLOBAL), action);
  check_hdf5(H5Fclose(std::exchange(file_, -1)), action);
  const auto& temporary = replacement_->temporary_path();
  written_->compare_with({path_, open_file(temporary, path_, H5F_ACC_RDONLY, "read back"), nullptr});
  replacement_->commit();
  replacement_.reset();
}

int Hdf5File::descriptor() const {
  const QuietHdf5 quiet;
  void* handle = nullptr;
  check_hdf5(H5Fget_vfd_handle(file_, H5P_DEFAULT, &handle), {"map", "", path_});
  return *static_cast<int*>(handle);
}

bool Hdf5File::exists(const std::string& object) const {
  const QuietHdf5 quiet;
  if (object == "/") return true;
  const Hdf5Action action{"look for", object, path_};
  const Hdf5Id access = within_file(Hdf5Path::to_object, action);
  // H5Lexists requires every parent group to exist, so ask for "/a", then "/a/b", …
  for (auto end = object.find('/', 1);; end = object.find('/', end + 1)) {
    const auto part = object.substr(0, end);
    if (check_hdf5(H5Lexists(file_, part.c_str(), access), {"look for", part, path_}) == 0) return false;
    if (H5Oexists_by_name(file_, part.c_str(), access) <= 0) {
      if (leads_out_of_file(file_, part, access)) check_hdf5(-1, {"find", part, path_});
      return false;  // a link to nowhere
    }
    if (end == std::string::npos) return true;
  }
}

std::vector<std::string> Hdf5File::children(const std::string& group) const {
  const QuietHdf5 quiet;
  const Hdf5Action action{"list", group, path_};
  const Hdf5Id access = within_file(Hdf5Path::to_group, action);
  const Hdf5Id id(H5Gopen2(file_, group.c_str(), access), H5Gclose, action);
  std::vector<std::string> names;
  const auto collect = [](hid_t, const char* name, const H5L_info_t*, void* list) -> herr_t {
    static_cast<std::vector<std::string>*>(list)->emplace_back(name);
    return 0;
  };
  check_hdf5(H5Literate(id, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &names), action);
  std::sort(names.begin(), names.end());
  return names;
}

// One by one, not by HDF5's own "intermediate groups": those would carry the time of their creation.
void Hdf5File::create_parents(const std::string& object) {
  for (auto end = object.find('/', 1); end != std::string::npos; end = object.find('/', end + 1))
    if (const auto parent = object.substr(0, end); !exists(parent)) create_group(parent);
}

void Hdf5File::create_group(const std::string& group) {
  const QuietHdf5 quiet;
  create_parents(group);
  const Hdf5Action action{"create", group, path_};
  const Hdf5Id properties(H5Pcreate(H5P_GROUP_CREATE), H5Pclose, action);
  check_hdf5(H5Pset_obj_track_times(properties, false), action);
  const Hdf5Id access = within_file(Hdf5Path::to_group, action);
  Hdf5Id id(H5Gcreate2(file_, group.c_str(), H5P_DEFAULT, properties, access), H5Gclose, action);
  id.close(action);
}

}  // namespace paragrad::data
