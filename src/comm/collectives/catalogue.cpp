#include <memory>
#include <stdexcept>

#include "comm/allreduce.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::comm {

namespace collectives {
#define ALLREDUCE(name, summary, source) std::unique_ptr<Allreduce> make_##name();
#define ALLREDUCE_WITH(name, syntax, summary, source) std::unique_ptr<Allreduce> make_##name(std::string_view parameters);
#define LIBRARY_ALLREDUCE(name, library, summary)
#include "comm/collectives/catalogue.def"
#undef ALLREDUCE
#undef ALLREDUCE_WITH
#undef LIBRARY_ALLREDUCE
std::unique_ptr<Allreduce> make_library(Library library);
}  // namespace collectives

namespace {

std::vector<core::OptionInfo> uses_nodes() {
  core::OptionList list;
  list.uses("workers-per-node");
  return list.infos();
}

}  // namespace

const std::vector<AllreduceEntry>& allreduces() {
  static const std::vector<AllreduceEntry> entries{
#define ALLREDUCE(name, summary, source) {{#name, "", "", summary, source}},
#define ALLREDUCE_WITH(name, syntax, summary, source) {{#name, syntax, "", summary, source, "", uses_nodes()}},
#define LIBRARY_ALLREDUCE(name, library, summary) {{#name, "", "", summary}, Library::library},
#include "comm/collectives/catalogue.def"
#undef ALLREDUCE
#undef ALLREDUCE_WITH
#undef LIBRARY_ALLREDUCE
  };
  return entries;
}

core::CatalogueInfo allreduce_catalogue() { return core::info_of("collective", "collectives", allreduces()); }

void CollectiveOptions::describe(core::OptionList& list) {
  list.group("Distribution");
  list.entry("collective", collective, allreduce_catalogue, "allreduce algorithm");
}

std::string explain_collective(std::string_view name, const Allreduce& allreduce, const Communicator& comm,
                               std::size_t length) {
  const std::string text = allreduce.explain(comm, length);
  return text.empty() ? "" : core::format("collective {}: {}", name, text);
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
#define ALLREDUCE(known, summary, source) \
  if (name == #known) return plain(&collectives::make_##known);
#define LIBRARY_ALLREDUCE(known, library, summary) \
  if (name == #known) return plain([] { return collectives::make_library(Library::library); });
#define ALLREDUCE_WITH(known, syntax, summary, source) \
  if (name == #known) return collectives::make_##known(parameters);
#include "comm/collectives/catalogue.def"
#undef ALLREDUCE
#undef ALLREDUCE_WITH
#undef LIBRARY_ALLREDUCE
  core::find_entry("allreduce algorithm", name, allreduces());  // throws
  throw std::logic_error("an allreduce algorithm without a maker");
}

}  // namespace paragrad::comm
