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

QuietHdf5::QuietHdf5() {
  // Before the first call of HDF5: disable its clean-up at exit. Every file is closed by its owner, and after reading a
  // damaged file the clean-up of HDF5 1.10 prints "infinite loop closing library".
  H5dont_atexit();
  H5Eget_auto2(H5E_DEFAULT, &print_, &print_argument_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

QuietHdf5::~QuietHdf5() { H5Eset_auto2(H5E_DEFAULT, print_, print_argument_); }

}  // namespace paragrad::data
