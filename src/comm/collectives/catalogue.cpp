#include <memory>

#include "comm/allreduce.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::comm {

namespace collectives {
#define ALLREDUCE(name, description) std::unique_ptr<Allreduce> make_##name();
#define ALLREDUCE_WITH(name, syntax, options, description) \
  std::unique_ptr<Allreduce> make_##name(std::string_view parameters);
#define LIBRARY_ALLREDUCE(name, library, description)
#include "comm/collectives/catalogue.def"
#undef ALLREDUCE
#undef ALLREDUCE_WITH
#undef LIBRARY_ALLREDUCE
std::unique_ptr<Allreduce> make_library(Library library);
}  // namespace collectives

std::vector<AllreduceEntry> allreduce_catalogue() {
  return {
#define ALLREDUCE(name, description) {#name, "", "", description},
#define ALLREDUCE_WITH(name, syntax, options, description) {#name, syntax, options, description},
#define LIBRARY_ALLREDUCE(name, library, description) {#name, "", "", description, Library::library},
#include "comm/collectives/catalogue.def"
#undef ALLREDUCE
#undef ALLREDUCE_WITH
#undef LIBRARY_ALLREDUCE
  };
}

std::unique_ptr<Allreduce> make_allreduce(std::string_view text) {
  const auto colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const bool given = colon != std::string_view::npos;
  const std::string_view parameters = given ? text.substr(colon + 1) : std::string_view{};
  if (given && parameters.empty())
    throw core::ConfigError(
        core::format("allreduce algorithm '{}': give parameters after the colon, or leave it out", text));
  const auto plain = [&](auto make) {
    if (given) throw core::ConfigError(core::format("allreduce algorithm '{}': {} takes no parameters", text, name));
    return make();
  };
#define ALLREDUCE(known, description) \
  if (name == #known) return plain(&collectives::make_##known);
#define LIBRARY_ALLREDUCE(known, library, description) \
  if (name == #known) return plain([] { return collectives::make_library(Library::library); });
#define ALLREDUCE_WITH(known, syntax, options, description) \
  if (name == #known) return collectives::make_##known(parameters);
#include "comm/collectives/catalogue.def"
#undef ALLREDUCE
#undef ALLREDUCE_WITH
#undef LIBRARY_ALLREDUCE
  std::vector<std::string> names;
  for (const auto& entry : allreduce_catalogue()) names.push_back(entry.name);
  throw core::unknown_name("allreduce algorithm", name, names);
}

}  // namespace paragrad::comm
