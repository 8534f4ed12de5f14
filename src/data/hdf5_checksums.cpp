// The part of Hdf5File that knows what HDF5's checksums cover.
#include <hdf5.h>

#include <algorithm>

#include "data/hdf5_file.hpp"
#include "data/hdf5_handle.hpp"

namespace paragrad::data {
namespace {

constexpr int deepest = 8;  // links may lead in circles

/// For H5Aiterate2: stops with 1 at an attribute whose value does not lie in it. Text of variable length and references lie
/// in the "global heap", which has no checksum.
herr_t look_at_attribute(hid_t object, const char* name, const H5A_info_t*, void*) {
  const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT), type = attribute < 0 ? attribute : H5Aget_type(attribute);
  if (type < 0) return -1;
  const auto kind = H5Tget_class(type);
  const bool inside = (kind == H5T_STRING && H5Tis_variable_str(type) == 0) || kind == H5T_INTEGER || kind == H5T_FLOAT;
  H5Tclose(type);
  H5Aclose(attribute);
  return inside ? 0 : 1;
}

/// Headers of version 1 have no checksum.
bool has_new_header(std::int64_t object, const Hdf5Action& action) {
#if H5_VERSION_GE(1, 12, 0)
  H5O_native_info_t info{};
  check_hdf5(H5Oget_native_info(object, &info, H5O_NATIVE_INFO_HDR), action);
#else
  H5O_info_t info{};
  check_hdf5(H5Oget_info2(object, &info, H5O_INFO_HDR), action);
#endif
  return info.hdr.version > 1;
}

/// Chunks have an index, perhaps without checksums, and filters that trust their input.
bool is_in_one_piece(std::int64_t array, const Hdf5Action& action) {
  const Hdf5Id properties(H5Dget_create_plist(array), H5Pclose, action);
  return H5Pget_layout(properties) == H5D_CONTIGUOUS;
}

bool is_new_group(std::int64_t group, const Hdf5Action& action) {
  H5G_info_t info{};
  check_hdf5(H5Gget_info(group, &info), action);
  return info.storage_type != H5G_STORAGE_TYPE_SYMBOL_TABLE;
}

bool attributes_lie_in_object(std::int64_t object, const Hdf5Action& action) {
  return check_hdf5(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, look_at_attribute, nullptr), action) == 0;
}

}  // namespace

bool Hdf5File::has_checksums(const std::string& object, int depth) const {
  const QuietHdf5 quiet;
  const Hdf5Action action{"look at", object, path_};
  const Hdf5Id access = within_file(Hdf5Path::to_object, action);
  const Hdf5Id id(H5Oopen(file_, object.c_str(), access), H5Oclose, action);
  if (depth > deepest || !has_new_header(id, action) || !attributes_lie_in_object(id, action)) return false;
  const auto kind = H5Iget_type(id);
  if (kind == H5I_DATASET) return is_in_one_piece(id, action);
  if (kind != H5I_GROUP || !is_new_group(id, action)) return false;
  const std::string prefix = object == "/" ? object : object + "/";
  return std::ranges::all_of(children(object),
                             [&](const std::string& name) { return has_checksums(prefix + name, depth + 1); });
}

}  // namespace paragrad::data
