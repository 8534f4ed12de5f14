#include "train/options.hpp"

#include "core/errors.hpp"

namespace paragrad::train {

Io parse_io(std::string_view name) {
  if (name == "none") return Io::none;
  if (name == "blocking") return Io::blocking;
  if (name == "prefetch") return Io::prefetch;
  throw core::unknown_name("way of reading (--io)", name, {"none", "blocking", "prefetch"});
}

}  // namespace paragrad::train
