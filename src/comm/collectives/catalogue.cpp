#include "comm/collectives/catalogue.hpp"

#include <algorithm>

#include "comm/collectives/hierarchy.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"

namespace paragrad::comm {
namespace {

using collectives::Entry;

/// The names of the operations, in the order of the enumeration.
const std::vector<std::string>& operations() {
  static const std::vector<std::string> entries{"allreduce", "reduce_scatter", "all_gather", "broadcast", "all_to_all"};
  return entries;
}

constexpr const char* legend =
    "time of the messages for n bytes and N workers over links of latency L and bandwidth B; P: the largest power of two\n"
    "in N, F = 1 if N > P, floor2 and ceil2: log2 N rounded down and up, ones: the 1 bits of all numbers below N\n";

Entry complete(Entry entry) {
  for (const std::string& name : operations())
    if (entry.serves(parse_operation(name))) entry.info.serves.push_back(name);
  if (!entry.info.formula.empty()) entry.info.formula = legend + entry.info.formula;
  return entry;
}

std::vector<std::string> names_of_algorithms(Operation operation) { return collective_catalogue(operation).names(); }

/// The algorithm of that name, whose parameters are not checked.
const Entry& find_algorithm(Operation operation, std::string_view name) {
  const auto& all = algorithms();
  const auto found =
      std::ranges::find(all, core::without_parameter(name), [](const Entry& entry) { return entry.info.name; });
  if (found == all.end())
    throw core::unknown_name(core::format("{} algorithm", name_of(operation)), name, names_of_algorithms(operation));
  if (!found->serves(operation))
    throw core::ConfigError(core::format("collective '{}' is an algorithm for {}; for {} choose one of {}", name,
                                         core::join(found->info.serves, ", "), name_of(operation),
                                         core::join(names_of_algorithms(operation), ", ")));
  return *found;
}

/// The text after the colon. Throws ConfigError if there is none, or if the algorithm takes no parameters.
std::string_view parameters_of(Operation operation, const Entry& entry, std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return {};
  const auto mistake = [&](const std::string& what) {
    return core::ConfigError(core::format("{} algorithm '{}': {}", name_of(operation), text, what));
  };
  if (colon + 1 == text.size()) throw mistake("give parameters after the colon, or leave it out");
  if (entry.info.parameter.empty()) throw mistake(core::format("{} takes no parameters", entry.info.name));
  return text.substr(colon + 1);
}

/// For operations whose algorithms have no parameters.
const Entry& find_plain(Operation operation, std::string_view text) {
  const Entry& entry = find_algorithm(operation, text);
  parameters_of(operation, entry, text);
  return entry;
}

}  // namespace

bool collectives::Entry::serves(Operation operation) const {
  const bool served[]{allreduce != nullptr, reduce_scatter != nullptr, all_gather != nullptr, broadcast != nullptr,
                      all_to_all != nullptr};
  return served[static_cast<std::size_t>(operation)];
}

const std::vector<Entry>& algorithms() {
  static const std::vector<Entry> entries{
#define COLLECTIVE(name) complete(collectives::name##_entry()),
#include "comm/collectives/catalogue.def"
#undef COLLECTIVE
  };
  return entries;
}

std::string_view name_of(Operation operation) { return operations()[static_cast<std::size_t>(operation)]; }

std::vector<std::string> operation_names() { return operations(); }

Operation parse_operation(std::string_view name) {
  const auto found = std::ranges::find(operations(), name);
  if (found == operations().end()) throw core::unknown_name("operation", name, operation_names());
  return static_cast<Operation>(found - operations().begin());
}

core::CatalogueInfo collective_catalogue(std::optional<Operation> operation) {
  core::CatalogueInfo info{"collective", "collectives", {}};
  for (const Entry& entry : algorithms())
    if (!operation || entry.serves(*operation)) info.entries.push_back(entry.info);
  return info;
}

std::string default_algorithm(Operation operation) { return names_of_algorithms(operation).front(); }

void check_algorithm(Operation operation, std::string_view algorithm) {
  if (operation == Operation::allreduce)
    make_allreduce(algorithm);
  else
    find_plain(operation, algorithm);
}

std::unique_ptr<Allreduce> make_allreduce(std::string_view text) {
  const Entry& entry = find_algorithm(Operation::allreduce, text);
  return entry.allreduce(parameters_of(Operation::allreduce, entry, text));
}

Cost cost_of(Operation operation, std::string_view algorithm, int workers, double bytes, const Surroundings& where) {
  const Entry& entry = find_algorithm(operation, algorithm);
  const std::string_view parameters = parameters_of(operation, entry, algorithm);
  if (entry.cost == nullptr)
    throw core::ConfigError(core::format("no closed form is known for {} '{}'", name_of(operation), algorithm));
  collectives::expect_full_nodes(where.workers_per_node);
  if (workers == 1 || bytes == 0) return {};
  return entry.cost(operation, {workers, bytes, where, parameters});
}

bool has_closed_form(std::string_view algorithm) {
  const auto name = core::without_parameter(algorithm);
  return std::ranges::any_of(algorithms(), [&](const Entry& e) { return e.info.name == name && e.cost != nullptr; });
}

void CollectiveOptions::describe(core::OptionList& list) {
  list.group("Distribution");
  list.entry(
      "collective", collective, [] { return collective_catalogue(Operation::allreduce); }, "allreduce algorithm");
}

std::string explain_collective(std::string_view name, const Allreduce& allreduce, const Communicator& comm,
                               std::size_t length) {
  const std::string text = allreduce.explain(comm, length);
  return text.empty() ? "" : core::format("collective {}: {}", name, text);
}

ReduceScatter::ReduceScatter(std::string_view algorithm)
    : run_(find_plain(Operation::reduce_scatter, algorithm).reduce_scatter) {}
AllGather::AllGather(std::string_view algorithm) : run_(find_plain(Operation::all_gather, algorithm).all_gather) {}
Broadcast::Broadcast(std::string_view algorithm) : run_(find_plain(Operation::broadcast, algorithm).broadcast) {}
AllToAll::AllToAll(std::string_view algorithm) : run_(find_plain(Operation::all_to_all, algorithm).all_to_all) {}

}  // namespace paragrad::comm
