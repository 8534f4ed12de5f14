// The part of Hdf5File that reads and writes attributes.
#include <hdf5.h>

#include <algorithm>
#include <cstring>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "data/hdf5_file.hpp"
#include "data/hdf5_handle.hpp"

namespace paragrad::data {
namespace {

/// UTF-8 of fixed length. Variable-length text, as many tools write it, is stored in a "global heap", the only part of a
/// file without a checksum, and HDF5 1.10 crashes if that is damaged.
Hdf5Id text_type(std::size_t length, const Hdf5Action& action) {
  Hdf5Id type(H5Tcopy(H5T_C_S1), H5Tclose, action);
  check_hdf5(H5Tset_size(type, std::max<std::size_t>(length, 1)), action);
  check_hdf5(H5Tset_strpad(type, H5T_STR_NULLPAD), action);
  check_hdf5(H5Tset_cset(type, H5T_CSET_UTF8), action);
  return type;
}

core::ConfigError wrong_kind(const Hdf5Action& action, std::string_view wanted) {
  return core::ConfigError(core::format("attribute '{}' in '{}' is not {}", action.object, action.file, wanted));
}

constexpr const char* too_long = "text that fits into the file: the file is damaged";

std::vector<std::string> read_fixed(hid_t attribute, hid_t stored, std::size_t count, const Hdf5Action& action) {
  const std::size_t length = H5Tget_size(stored);
  std::vector<char> bytes(count * length);
  check_hdf5(H5Aread(attribute, stored, bytes.data()), action);
  std::vector<std::string> values;
  for (std::size_t i = 0; i < count; ++i) {
    const char* text = bytes.data() + i * length;
    values.emplace_back(text, strnlen(text, length));
  }
  return values;
}

/// Each text is stored once; those of a damaged file may refer to the same one a thousand times.
std::vector<std::string> read_variable(hid_t file, hid_t attribute, hid_t stored, hid_t space, std::size_t count,
                                       const Hdf5Action& action) {
  std::vector<char*> pointers(count, nullptr);
  check_hdf5(H5Aread(attribute, stored, pointers.data()), action);
  std::vector<std::string> values;
  hsize_t left = 0;
  check_hdf5(H5Fget_filesize(file, &left), action);
  for (const char* text : pointers) {
    const std::size_t length = text == nullptr ? 0 : std::strlen(text);
    if (length > left) break;
    left -= length;
    values.emplace_back(text == nullptr ? "" : text, length);
  }
  H5Dvlen_reclaim(stored, space, H5P_DEFAULT, pointers.data());
  if (values.size() < count) throw wrong_kind(action, too_long);
  return values;
}

/// An attribute opened for reading, with its type and number of elements.
struct Opened {
  Opened(hid_t file, const std::string& object, const std::string& name, const Hdf5Action& action)
      : access(within_file(Hdf5Path::to_object, action)),
        id(H5Aopen_by_name(file, object.c_str(), name.c_str(), H5P_DEFAULT, access), H5Aclose, action),
        type(H5Aget_type(id), H5Tclose, action),
        space(H5Aget_space(id), H5Sclose, action),
        elements(static_cast<std::size_t>(check_hdf5(H5Sget_simple_extent_npoints(space), action))) {}
  Hdf5Id access, id, type, space;
  std::size_t elements;
};

std::string attribute_path(const std::string& object, const std::string& name) {
  return object == "/" ? object + name : object + "/" + name;
}

}  // namespace

bool Hdf5File::has_attribute(const std::string& object, const std::string& name) const {
  const QuietHdf5 quiet;
  const auto shown = attribute_path(object, name);
  const Hdf5Action action{"look for", shown, path_};
  const Hdf5Id access = within_file(Hdf5Path::to_object, action);
  return check_hdf5(H5Aexists_by_name(file_, object.c_str(), name.c_str(), access), action) > 0;
}

void Hdf5File::set(const std::string& object, const std::string& name, std::int64_t type, std::int64_t space,
                   std::span<const std::byte> value) {
  const auto shown = attribute_path(object, name);
  const Hdf5Action action{"write attribute", shown, path_};
  const Hdf5Id access = within_file(Hdf5Path::to_object, action);
  Hdf5Id id(H5Oopen(file_, object.c_str(), access), H5Oclose, action);
  if (check_hdf5(H5Aexists(id, name.c_str()), action) > 0) check_hdf5(H5Adelete(id, name.c_str()), action);
  Hdf5Id attribute(H5Acreate2(id, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose, action);
  if (!value.empty()) check_hdf5(H5Awrite(attribute, type, value.data()), action);
  attribute.close(action);
  id.close(action);
  written_->set_attribute(object, name, value);
}

std::vector<std::byte> Hdf5File::stored_attribute(const std::string& object, const std::string& name) const {
  const QuietHdf5 quiet;
  const auto shown = attribute_path(object, name);
  const Hdf5Action action{"read attribute", shown, path_};
  const Opened attribute(file_, object, name, action);
  std::vector<std::byte> value(attribute.elements * H5Tget_size(attribute.type));
  if (!value.empty()) check_hdf5(H5Aread(attribute.id, attribute.type, value.data()), action);
  return value;
}

void Hdf5File::set_text(const std::string& object, const std::string& name, const std::string& value) {
  const QuietHdf5 quiet;
  const auto shown = attribute_path(object, name);
  const Hdf5Action action{"write attribute", shown, path_};
  const Hdf5Id space(H5Screate(H5S_SCALAR), H5Sclose, action);
  const std::span stored(value.c_str(), std::max<std::size_t>(value.size(), 1));
  set(object, name, text_type(value.size(), action), space, std::as_bytes(stored));
}

void Hdf5File::set_texts(const std::string& object, const std::string& name, const std::vector<std::string>& values) {
  const QuietHdf5 quiet;
  const auto shown = attribute_path(object, name);
  const Hdf5Action action{"write attribute", shown, path_};
  const hsize_t count = values.size();
  const Hdf5Id space(H5Screate_simple(1, &count, nullptr), H5Sclose, action);
  std::size_t length = 1;
  for (const auto& value : values) length = std::max(length, value.size());
  std::string padded;
  for (const auto& value : values) padded += value + std::string(length - value.size(), '\0');
  set(object, name, text_type(length, action), space, std::as_bytes(std::span(padded)));
}

void Hdf5File::set_number(const std::string& object, const std::string& name, double value) {
  const QuietHdf5 quiet;
  const auto shown = attribute_path(object, name);
  const Hdf5Action action{"write attribute", shown, path_};
  const Hdf5Id space(H5Screate(H5S_SCALAR), H5Sclose, action);
  set(object, name, H5T_NATIVE_DOUBLE, space, std::as_bytes(std::span(&value, 1)));
}

void Hdf5File::set_count(const std::string& object, const std::string& name, std::uint64_t value) {
  const QuietHdf5 quiet;
  const auto shown = attribute_path(object, name);
  const Hdf5Action action{"write attribute", shown, path_};
  const Hdf5Id space(H5Screate(H5S_SCALAR), H5Sclose, action);
  set(object, name, H5T_NATIVE_UINT64, space, std::as_bytes(std::span(&value, 1)));
}

std::vector<std::string> Hdf5File::texts(const std::string& object, const std::string& name) const {
  const QuietHdf5 quiet;
  const auto shown = attribute_path(object, name);
  const Hdf5Action action{"read attribute", shown, path_};
  const Opened attribute(file_, object, name, action);
  if (H5Tget_class(attribute.type) != H5T_STRING) throw wrong_kind(action, "text");
  if (attribute.elements == 0) return {};
  hsize_t file_bytes = 0;
  check_hdf5(H5Fget_filesize(file_, &file_bytes), action);
  if (H5Tget_size(attribute.type) > file_bytes / attribute.elements) throw wrong_kind(action, too_long);
  if (check_hdf5(H5Tis_variable_str(attribute.type), action) > 0)
    return read_variable(file_, attribute.id, attribute.type, attribute.space, attribute.elements, action);
  return read_fixed(attribute.id, attribute.type, attribute.elements, action);
}

std::string Hdf5File::text(const std::string& object, const std::string& name) const {
  auto values = texts(object, name);
  if (values.size() != 1)
    throw core::ConfigError(
        core::format("attribute '{}' in '{}' is not a single string", attribute_path(object, name), path_));
  return values[0];
}

double Hdf5File::number(const std::string& object, const std::string& name) const {
  const QuietHdf5 quiet;
  const auto shown = attribute_path(object, name);
  const Hdf5Action action{"read attribute", shown, path_};
  const Opened attribute(file_, object, name, action);
  const auto kind = H5Tget_class(attribute.type);
  if ((kind != H5T_FLOAT && kind != H5T_INTEGER) || attribute.elements != 1) throw wrong_kind(action, "a number");
  double value = 0;
  check_hdf5(H5Aread(attribute.id, H5T_NATIVE_DOUBLE, &value), action);
  return value;
}

std::uint64_t Hdf5File::count(const std::string& object, const std::string& name) const {
  const QuietHdf5 quiet;
  const auto shown = attribute_path(object, name);
  const Hdf5Action action{"read attribute", shown, path_};
  const Opened attribute(file_, object, name, action);
  if (H5Tget_class(attribute.type) != H5T_INTEGER || attribute.elements != 1) throw wrong_kind(action, "a whole number");
  if (H5Tget_sign(attribute.type) == H5T_SGN_2) {
    std::int64_t value = 0;
    check_hdf5(H5Aread(attribute.id, H5T_NATIVE_INT64, &value), action);
    if (value < 0) throw wrong_kind(action, "a count: it is negative");
    return static_cast<std::uint64_t>(value);
  }
  std::uint64_t value = 0;
  check_hdf5(H5Aread(attribute.id, H5T_NATIVE_UINT64, &value), action);
  return value;
}

}  // namespace paragrad::data
