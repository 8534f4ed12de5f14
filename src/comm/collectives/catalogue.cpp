#include <memory>

#include "comm/allreduce.hpp"
#include "core/errors.hpp"

namespace paragrad::comm {

namespace collectives {
#define ALLREDUCE(name, description) std::unique_ptr<Allreduce> make_##name();
#include "comm/collectives/catalogue.def"
#undef ALLREDUCE
}  // namespace collectives

std::vector<AllreduceEntry> allreduce_catalogue() {
  return {
#define ALLREDUCE(name, description) {#name, description},
#include "comm/collectives/catalogue.def"
#undef ALLREDUCE
  };
}

std::unique_ptr<Allreduce> make_allreduce(std::string_view name) {
#define ALLREDUCE(known, description) \
  if (name == #known) return collectives::make_##known();
#include "comm/collectives/catalogue.def"
#undef ALLREDUCE
  std::vector<std::string> known;
  for (const auto& entry : allreduce_catalogue()) known.push_back(entry.name);
  throw core::unknown_name("allreduce algorithm", name, known);
}

}  // namespace paragrad::comm
