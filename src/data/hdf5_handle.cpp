#include "data/hdf5_handle.hpp"

#include <hdf5.h>

#include <type_traits>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::data {
namespace {

static_assert(std::is_same_v<hid_t, std::int64_t>, "Paragrad needs HDF5 1.10 or newer");

herr_t keep_innermost(unsigned depth, const H5E_error2_t* error, void* reason) {
  if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(reason) = error->desc;
  return 0;
}

constexpr const char* outside = "it lies in another file, '%s'; copy it into this one";

/// For H5Pset_elink_cb: puts a reason on HDF5's error stack, where check_hdf5 finds it.
herr_t refuse_link(const char*, const char*, const char* file, const char*, unsigned*, hid_t, void*) {
  H5Epush2(H5E_DEFAULT, __FILE__, __func__, __LINE__, H5E_ERR_CLS, H5E_LINK, H5E_TRAVERSE, outside, file);
  return -1;
}

/// HDF5's text for a failed system call contains times, addresses and counts; only the system's message helps a user.
std::string system_message(const std::string& reason) {
  constexpr std::string_view before = "error message = '";
  const auto at = reason.find(before);
  if (at == std::string::npos) return reason;
  const auto begin = at + before.size();
  return reason.substr(begin, reason.find('\'', begin) - begin);
}

}  // namespace

std::int64_t check_hdf5(std::int64_t code, const Hdf5Action& action) {
  if (code >= 0) return code;
  std::string reason = "HDF5 gives no reason";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &reason);
  reason = system_message(reason);
  if (action.object.empty()) throw core::ConfigError(core::format("cannot {} '{}': {}", action.verb, action.file, reason));
  throw core::ConfigError(core::format("cannot {} '{}' in '{}': {}", action.verb, action.object, action.file, reason));
}

bool leads_out_of_file(std::int64_t file, const std::string& object, std::int64_t access) {
  if (const hid_t id = H5Oopen(file, object.c_str(), access); id >= 0) {
    H5Oclose(id);
    return false;
  }
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &reason);
  return reason.starts_with(std::string_view(outside).substr(0, std::string_view(outside).find('%')));
}

Hdf5Id within_file(Hdf5Path path, const Hdf5Action& action) {
  const hid_t kind = path == Hdf5Path::to_array   ? H5P_DATASET_ACCESS
                     : path == Hdf5Path::to_group ? H5P_GROUP_ACCESS
                                                  : H5P_LINK_ACCESS;
  Hdf5Id properties(H5Pcreate(kind), H5Pclose, action);
  check_hdf5(H5Pset_elink_cb(properties, refuse_link, nullptr), action);
  return properties;
}

QuietHdf5::QuietHdf5() {
  // Before the first call of HDF5: disable its clean-up at exit. Every file is closed by its owner, and after reading a
  // damaged file the clean-up of HDF5 1.10 prints "infinite loop closing library".
  H5dont_atexit();
  H5Eget_auto2(H5E_DEFAULT, &print_, &print_argument_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

QuietHdf5::~QuietHdf5() { H5Eset_auto2(H5E_DEFAULT, print_, print_argument_); }

}  // namespace paragrad::data
