// The part of Hdf5File that moves arrays.
#include <hdf5.h>

#include <array>
#include <limits>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "data/hdf5_file.hpp"
#include "data/hdf5_handle.hpp"
#include "system/free_space.hpp"

namespace paragrad::data {
namespace {

hid_t native_type(ElementType type) {
  switch (type) {
    case ElementType::uint8:
      return H5T_NATIVE_UINT8;
    case ElementType::uint16:
      return H5T_NATIVE_UINT16;
    case ElementType::int32:
      return H5T_NATIVE_INT32;
    case ElementType::uint32:
      return H5T_NATIVE_UINT32;
    case ElementType::int64:
      return H5T_NATIVE_INT64;
    case ElementType::uint64:
      return H5T_NATIVE_UINT64;
    case ElementType::float32:
      return H5T_NATIVE_FLOAT;
    case ElementType::float64:
      return H5T_NATIVE_DOUBLE;
    case ElementType::other:
      break;
  }
  return H5I_INVALID_HID;
}

ElementType element_type(hid_t type) {
  const auto bytes = H5Tget_size(type);
  const auto kind = H5Tget_class(type);
  if (kind == H5T_FLOAT && bytes == 4) return ElementType::float32;
  if (kind == H5T_FLOAT && bytes == 8) return ElementType::float64;
  if (kind != H5T_INTEGER) return ElementType::other;
  const bool has_sign = H5Tget_sign(type) != H5T_SGN_NONE;
  if (bytes == 1 && !has_sign) return ElementType::uint8;
  if (bytes == 2 && !has_sign) return ElementType::uint16;
  if (bytes == 4) return has_sign ? ElementType::int32 : ElementType::uint32;
  if (bytes == 8) return has_sign ? ElementType::int64 : ElementType::uint64;
  return ElementType::other;
}

/// Of a type that ElementType does not have.
std::string name_of_other(hid_t type) {
  const std::size_t bits = 8 * H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return core::format("{}int{}", H5Tget_sign(type) == H5T_SGN_NONE ? "u" : "", bits);
    case H5T_FLOAT:
      return core::format("float{}", bits);
    case H5T_STRING:
      return "text";
    case H5T_COMPOUND:
      return "records (a compound type)";
    case H5T_ENUM:
      return "an enumeration, as truth values are stored";
    case H5T_VLEN:
      return "lists of different lengths";
    default:
      return "another type";
  }
}

core::ConfigError refused(const Hdf5Action& action, const std::string& why) {
  return core::ConfigError(core::format("cannot {} '{}' in '{}': {}", action.verb, action.object, action.file, why));
}

/// Elements may lie in other files, which HDF5 opens when it reads them, or for a virtual data set when it is asked for its
/// shape. Those could be any files that the process may read, or pipes.
void require_own_elements(hid_t properties, const Hdf5Action& action) {
  if (H5Pget_layout(properties) == H5D_VIRTUAL)
    throw refused(action,
                  "it is a virtual data set, made of others that may lie in other files; copy its elements into this one");
  if (H5Pget_external_count(properties) <= 0) return;
  std::array<char, 200> name{};
  check_hdf5(H5Pget_external(properties, 0, name.size() - 1, name.data(), nullptr, nullptr), action);
  throw refused(action, core::format("its elements lie in another file, '{}'; copy them into this one", name.data()));
}

/// Before memory is allocated: what a file says about its arrays may be wrong. In chunks, each of which must fit too, they
/// may be compressed (deflate makes at most 1,032 bytes of one) or left out.
void require_room(hid_t array, hid_t type, hid_t properties, const Hdf5ArrayInfo& info, const Hdf5Action& action) {
  constexpr double overhead = 1 << 20;
  const bool chunked = H5Pget_layout(properties) == H5D_CHUNKED;
  hsize_t file_bytes = 0;
  const Hdf5Id file(H5Iget_file_id(array), H5Fclose, action);
  check_hdf5(H5Fget_filesize(file, &file_bytes), action);
  const double most = (chunked ? 1100 : 1) * static_cast<double>(file_bytes) + overhead;
  const auto require = [&](std::string_view what, const std::vector<hsize_t>& shape) {
    double bytes = static_cast<double>(H5Tget_size(type));
    for (const hsize_t size : shape) bytes *= static_cast<double>(size);
    if (bytes <= most) return;
    const std::string why = H5Dget_storage_size(array) == 0
                                ? "was never written"
                                : core::format("does not fit into the file's {} bytes: the file is damaged", file_bytes);
    throw refused(action, core::format("{} of {} elements {}", what, core::join(shape, "x"), why));
  };
  require("its array", {info.shape.begin(), info.shape.end()});
  if (!chunked) return;
  std::vector<hsize_t> chunk(info.shape.size());
  check_hdf5(H5Pget_chunk(properties, static_cast<int>(chunk.size()), chunk.data()), action);
  require("a chunk", chunk);
}

/// HDF5 may lack the filter that made the chunks, such as a plug-in of another program's installation.
void require_filters(hid_t properties, const Hdf5Action& action) {
  const int filters = check_hdf5(H5Pget_nfilters(properties), action);
  for (int i = 0; i < filters; ++i) {
    std::array<char, 200> name{};
    unsigned flags = 0;
    std::size_t values = 0;
    const H5Z_filter_t filter = H5Pget_filter2(properties, static_cast<unsigned>(i), &flags, &values, nullptr,
                                               name.size() - 1, name.data(), nullptr);
    if (filter >= 0 && H5Zfilter_avail(filter) <= 0)
      throw refused(
          action, core::format("it is stored with the filter {}{}, which this installation of HDF5 lacks: write it without "
                               "compression, or with gzip",
                               filter, name[0] == '\0' ? "" : core::format(" ('{}')", name.data())));
  }
}

std::optional<std::uint64_t> offset_in_file(hid_t array, hid_t type, hid_t properties, const Hdf5ArrayInfo& info) {
  if (info.type == ElementType::other || H5Tequal(type, native_type(info.type)) <= 0) return {};
  if (H5Pget_layout(properties) != H5D_CONTIGUOUS) return {};
  const haddr_t offset = H5Dget_offset(array);
  if (offset == HADDR_UNDEF) return {};
  return offset;
}

Hdf5ArrayInfo read_info(hid_t array, const Hdf5Action& action) {
  const Hdf5Id properties(H5Dget_create_plist(array), H5Pclose, action);
  require_own_elements(properties, action);
  const Hdf5Id type(H5Dget_type(array), H5Tclose, action);
  const Hdf5Id space(H5Dget_space(array), H5Sclose, action);
  std::vector<hsize_t> shape(static_cast<std::size_t>(check_hdf5(H5Sget_simple_extent_ndims(space), action)));
  check_hdf5(H5Sget_simple_extent_dims(space, shape.data(), nullptr), action);
  Hdf5ArrayInfo info;
  info.type = element_type(type);
  if (info.type == ElementType::other) info.other_type = name_of_other(type);
  if (H5Pget_layout(properties) == H5D_CHUNKED) require_filters(properties, action);
  info.shape.assign(shape.begin(), shape.end());
  info.file_offset = offset_in_file(array, type, properties, info);
  require_room(array, type, properties, info, action);
  return info;
}

std::size_t product(const std::vector<std::size_t>& shape, std::size_t first) {
  std::size_t elements = 1;
  for (std::size_t i = first; i < shape.size(); ++i) {
    if (shape[i] != 0 && elements > std::numeric_limits<std::size_t>::max() / 16 / shape[i])
      throw core::ConfigError(core::format("an array of shape {} is too large", core::join(shape, "x")));
    elements *= shape[i];
  }
  return elements;
}

}  // namespace

std::string_view to_string(ElementType type) {
  constexpr std::string_view names[] = {"uint8",  "uint16",  "int32",   "uint32",      "int64",
                                        "uint64", "float32", "float64", "another type"};
  return names[static_cast<std::size_t>(type)];
}

std::size_t bytes_of(ElementType type) {
  constexpr std::size_t bytes[] = {1, 2, 4, 4, 8, 8, 4, 8, 0};
  return bytes[static_cast<std::size_t>(type)];
}

std::string Hdf5ArrayInfo::type_name() const {
  return type == ElementType::other ? other_type : std::string(to_string(type));
}
std::size_t Hdf5ArrayInfo::elements() const { return product(shape, 0); }
std::size_t Hdf5ArrayInfo::row_elements() const { return product(shape, 1); }

void Hdf5File::create_array(const std::string& array, ElementType type, const std::vector<std::size_t>& shape) {
  const QuietHdf5 quiet;
  constexpr double worth_asking = 1e6;  // writing a smaller array is faster than querying the disk
  const double bytes = static_cast<double>(product(shape, 0)) * static_cast<double>(bytes_of(type));
  if (bytes > worth_asking) system::require_free_space(path_, bytes);
  create_parents(array);
  const Hdf5Action action{"create", array, path_};
  const std::vector<hsize_t> extent(shape.begin(), shape.end());
  const Hdf5Id space(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr), H5Sclose, action);
  const Hdf5Id properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, action);
  check_hdf5(H5Pset_layout(properties, H5D_CONTIGUOUS), action);
  check_hdf5(H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY), action);
  check_hdf5(H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER), action);
  check_hdf5(H5Pset_obj_track_times(properties, false), action);
  const Hdf5Id access = within_file(Hdf5Path::to_array, action);
  Hdf5Id id(H5Dcreate2(file_, array.c_str(), native_type(type), space, H5P_DEFAULT, properties, access), H5Dclose, action);
  id.close(action);
}

Hdf5ArrayInfo Hdf5File::array_info(const std::string& array) const {
  const QuietHdf5 quiet;
  const Hdf5Action action{"read", array, path_};
  const Hdf5Id access = within_file(Hdf5Path::to_array, action);
  const Hdf5Id id(H5Dopen2(file_, array.c_str(), access), H5Dclose, action);
  return read_info(id, action);
}

void Hdf5File::write_elements(const std::string& array, std::size_t first_row, ElementType type, const void* source,
                              std::size_t count) {
  const auto info = transfer_rows(array, first_row, type, source, count, nullptr);
  const std::size_t first = count == 0 ? 0 : first_row * info.row_elements();
  written_->add(array, first * bytes_of(type), std::span(static_cast<const std::byte*>(source), count * bytes_of(type)));
}

Hdf5ArrayInfo Hdf5File::transfer_rows(const std::string& array, std::size_t first_row, ElementType type, const void* source,
                                      std::size_t count, void* target) const {
  const QuietHdf5 quiet;
  const Hdf5Action action{target != nullptr ? "read" : "write", array, path_};
  const Hdf5Id access = within_file(Hdf5Path::to_array, action);
  Hdf5Id id(H5Dopen2(file_, array.c_str(), access), H5Dclose, action);
  const auto info = read_info(id, action);
  if (info.type != type)
    throw core::ConfigError(
        core::format("'{}' in '{}' has type {}, not {}", array, path_, info.type_name(), to_string(type)));
  if (count == 0) return info;
  const std::size_t row = info.row_elements();
  if (info.shape.empty() || row == 0 || count % row != 0 || first_row > info.shape[0] ||
      count / row > info.shape[0] - first_row)
    throw core::ConfigError(core::format("'{}' in '{}' has shape {}: cannot transfer {} elements from row {}", array, path_,
                                         core::join(info.shape, "x"), count, first_row));

  std::vector<hsize_t> start(info.shape.size(), 0), extent(info.shape.begin(), info.shape.end());
  start[0] = first_row;
  extent[0] = count / row;
  const Hdf5Id in_file(H5Dget_space(id), H5Sclose, action);
  check_hdf5(H5Sselect_hyperslab(in_file, H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr), action);
  const Hdf5Id in_memory(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr), H5Sclose, action);
  const auto memory_type = native_type(type);
  check_hdf5(target != nullptr ? H5Dread(id, memory_type, in_memory, in_file, H5P_DEFAULT, target)
                               : H5Dwrite(id, memory_type, in_memory, in_file, H5P_DEFAULT, source),
             action);
  id.close(action);
  return info;
}

}  // namespace paragrad::data
