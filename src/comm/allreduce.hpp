#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "comm/communicator.hpp"
#include "core/options.hpp"
#include "core/range.hpp"

namespace paragrad::comm {

/// Sums one flat array over all workers, in two halves. After reduce_scatter() the owner of each element holds its complete
/// sum; after all_gather() every worker does. Between the two an owner may replace its range with anything computed from it
/// (a filtered model, a requantised gradient); all_gather() distributes whatever is there. This keeps the state of a block
/// filter at 1/N per worker.
///
/// Every algorithm adds in an order that depends only on (algorithm, size, rank) and distributes a single result, so all
/// workers end with the same bits, under MPI and in the simulator. Collective: all workers call with the same length, which
/// may be shorter than size() or zero.
class Allreduce {
 public:
  virtual ~Allreduce() = default;

  /// The elements of an array of `length` whose sums this worker holds after reduce_scatter(). The ranges of all workers
  /// cover the array; they overlap only if every worker computes all sums (butterfly), and then hold equal bits.
  virtual core::Range owned(Communicator& comm, std::size_t length) const = 0;

  /// Afterwards the array's content outside owned() is undefined.
  void reduce_scatter(Communicator& comm, std::span<float> data) const {
    comm.run_collective([this](Communicator& workers, std::span<float> array) { do_reduce_scatter(workers, array); }, data);
  }
  void all_gather(Communicator& comm, std::span<float> data) const {
    comm.run_collective([this](Communicator& workers, std::span<float> array) { do_all_gather(workers, array); }, data);
  }

  /// Tells the user how arrays of this length are summed, and why; "" if the name is enough.
  virtual std::string explain(const Communicator&, std::size_t /*length*/) const { return ""; }

  void operator()(Communicator& comm, std::span<float> data) const {
    const auto both = [this](Communicator& workers, std::span<float> array) {
      do_reduce_scatter(workers, array);
      do_all_gather(workers, array);
    };
    comm.run_collective(both, data);
  }

 private:
  virtual void do_reduce_scatter(Communicator& comm, std::span<float> data) const = 0;
  virtual void do_all_gather(Communicator& comm, std::span<float> data) const = 0;
};

/// The option of everything that sums by an allreduce.
struct CollectiveOptions {
  std::string collective = "ring";

  void describe(core::OptionList& list);
};

/// Allreduce::explain after "collective <name>: "; "" if there is nothing to explain.
std::string explain_collective(std::string_view name, const Allreduce& allreduce, const Communicator& comm,
                               std::size_t length);

/// name: a catalogue name with its parameters, "ring" or "hierarchical:tree+ring". Throws ConfigError.
std::unique_ptr<Allreduce> make_allreduce(std::string_view name);

/// Sums a few doubles (counts, losses) in rank order: gathered at worker 0, then broadcast. Same bits on all workers.
void sum_in_rank_order(Communicator& comm, std::span<double> values);

/// Every worker passes a text or "". Returns the text of the lowest rank that has one, the same on all workers.
std::string first_text(Communicator& comm, const std::string& mine);

/// The same for error messages.
inline std::string first_error(Communicator& comm, const std::string& mine) { return first_text(comm, mine); }

/// Runs `action`, in which workers must not communicate. If it throws a ConfigError or a filesystem_error on any of them,
/// all throw a ConfigError with the text of the lowest worker that has one. Collective.
void agree(Communicator& comm, const std::function<void()>& action);

/// Returns once all workers have called it.
void barrier(Communicator& comm);

}  // namespace paragrad::comm
