#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator.hpp"
#include "core/range.hpp"

namespace paragrad::comm {

/// Sum of one flat array over all workers, in two halves. After reduce_scatter() each complete sum lies at its owner, after
/// all_gather() everywhere. Between the two an owner may replace its range by anything computed from it (a filtered model, a
/// requantised gradient): all_gather() spreads what it finds. That is what keeps the state of a block filter at 1/N per
/// worker.
///
/// Every algorithm adds in an order that depends on (algorithm, size, rank) alone and spreads one result, so all workers and
/// both worlds end with the same bits. Collective: all workers call with the same length, which may be shorter than size()
/// or zero.
class Allreduce {
 public:
  virtual ~Allreduce() = default;

  /// The elements of an array of `length` whose sum is complete at this worker after reduce_scatter(). Over all workers the
  /// ranges cover the array; they overlap only where an algorithm computes sums everywhere (butterfly), and then hold equal
  /// bits.
  virtual core::Range owned(Communicator& comm, std::size_t length) const = 0;

  /// Outside owned() the array's content is undefined afterwards.
  virtual void reduce_scatter(Communicator& comm, std::span<float> data) const = 0;

  virtual void all_gather(Communicator& comm, std::span<float> data) const = 0;

  /// What the user wants to know about how arrays of this length are summed, and why; "" where the name says it all.
  virtual std::string explain(const Communicator&, std::size_t /*length*/) const { return ""; }

  void operator()(Communicator& comm, std::span<float> data) const {
    const auto both = [this](Communicator& workers, std::span<float> array) {
      reduce_scatter(workers, array);
      all_gather(workers, array);
    };
    if (!comm.shortcut(both, data)) both(comm, data);
  }
};

/// From comm/collectives/catalogue.def: name and one-line description with source.
struct AllreduceEntry {
  std::string name;
  std::string parameters;  ///< that may follow the name, "" for none: ":INNER+OUTER"
  std::string options;     ///< names of those that it uses and not every collective does, separated by spaces
  std::string description;
  std::optional<Library> library{};  ///< whose routine it is, if it is not ours
};
std::vector<AllreduceEntry> allreduce_catalogue();

/// "ring", "hierarchical:tree+ring": a name of the catalogue and its parameters. Throws ConfigError.
std::unique_ptr<Allreduce> make_allreduce(std::string_view name);

/// Sums a few doubles in rank order (gathered at worker 0, spread again): counts, losses. Same bits everywhere.
void sum_in_rank_order(Communicator& comm, std::span<double> values);

/// Every worker brings a text or "". Returns the text of the lowest worker that has one, the same on all workers.
std::string first_text(Communicator& comm, const std::string& mine);

/// The same, of what went wrong at each.
inline std::string first_error(Communicator& comm, const std::string& mine) { return first_text(comm, mine); }

/// Returns once all workers have called it.
void barrier(Communicator& comm);

}  // namespace paragrad::comm
