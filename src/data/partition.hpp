#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/range.hpp"
#include "data/dataset.hpp"

namespace paragrad::data {

/// The name of a stored partition, "32x64-s1" or "8x4-s1-dirichlet:0.1", which gives the arguments of find().
struct PartitionName {
  std::string group;
  std::size_t workers = 0;
  std::size_t blocks = 0;
  std::uint64_t seed = 0;
  std::string kind{};
};

inline constexpr std::string_view random_kind = "random";

/// Partition N×M of the training set: M blocks of N splits, D_j = {D_jk}; every sample is in exactly one split
/// (Chen and Huo, ICASSP 2016). Splits of samples differ in size by at most one; splits of whole utterances are as close to
/// equal size as the utterance boundaries allow. Other kinds (data/partitioning.hpp) give workers data that differ, and
/// perhaps splits of different sizes, none of which is empty.
class Partition {
 public:
  /// A random partition: the permutation of 0 … samples-1 keyed by `seed`, cut into N·M parts, block by block.
  /// The permutation depends on (samples, seed) alone, so partitions with the same seed order the samples alike.
  /// Throws ConfigError if there are more splits than samples, or a count below one.
  static Partition random(std::size_t samples, std::size_t workers, std::size_t blocks, std::uint64_t seed);

  /// A random partition of whole utterances, given by `offsets` ([sequences + 1] of the training set). Their order depends
  /// on their number and `seed` alone; each utterance is in one split, with its samples in their own order. Splits end at
  /// the utterance ends nearest to equal parts; each split has at least one utterance. Throws ConfigError if there are more
  /// splits than utterances, or a count below one.
  static Partition of_utterances(std::span<const std::int64_t> offsets, std::size_t workers, std::size_t blocks,
                                 std::uint64_t seed);

  /// The same splits with pieces of utterances as samples: `begins` are the first rows of all pieces, ascending, and no
  /// piece crosses an utterance boundary. Within a split the pieces are in a random order keyed by the partition's seed,
  /// because neighbouring pieces are similar. Throws std::logic_error if the splits are not of utterances.
  Partition of_pieces(std::span<const std::uint32_t> begins) const;

  /// These splits: `order` has the rows of all splits, block by block and worker by worker, `starts` ([workers * blocks +
  /// 1]) where each begins. Throws logic_error unless each row is in one split and no split is empty.
  static Partition of_splits(std::vector<std::uint32_t> order, std::vector<std::uint64_t> starts, std::size_t workers,
                             std::size_t blocks, std::uint64_t seed, bool whole_utterances);

  /// Only the sizes of the splits, without rows: for runs that count and never read. Uses no memory, whatever the number of
  /// samples.
  static Partition of_sizes(std::size_t samples, std::size_t workers, std::size_t blocks, std::uint64_t seed);

  /// The stored partition "NxM" of a data file with this seed and of this kind, if there is one. Throws ConfigError if it
  /// belongs to another data set or violates the invariants above.
  static std::optional<Partition> find(const Dataset& dataset, std::size_t workers, std::size_t blocks, std::uint64_t seed,
                                       const std::string& kind = std::string(random_kind));

  /// Adds this partition to the data file. Throws ConfigError if it already exists or the disk is full, and leaves the file
  /// unchanged: the partition is added to a copy, which then replaces the file. Costs a copy of the file (free if the file
  /// system can share blocks); adding in place would leave it unreadable if the process died half-way.
  void store(const std::string& path) const;

  std::size_t workers() const { return workers_; }
  std::size_t blocks() const { return blocks_; }
  std::uint64_t seed() const { return seed_; }
  std::size_t samples() const { return samples_; }
  const std::string& kind() const { return kind_; }  ///< "random", "dirichlet:0.1"
  bool has_rows() const { return !order_.empty(); }
  bool has_whole_utterances() const { return whole_utterances_; }

  /// Only the sizes of these splits, for runs that count and never read.
  Partition without_rows() const;

  /// The same splits as a partition of this kind, under whose name it is stored.
  Partition of_kind(std::string kind) &&;

  /// Positions, in the order of the partition, of split (block j, worker k), and of all splits of a block.
  core::Range split_range(std::size_t block, std::size_t worker) const;
  core::Range block_range(std::size_t block) const;

  /// Rows of the training set at these positions. Throws logic_error if the partition has no rows.
  std::span<const std::uint32_t> rows(core::Range positions) const;
  std::span<const std::uint32_t> split(std::size_t block, std::size_t worker) const {
    return rows(split_range(block, worker));
  }
  std::span<const std::uint32_t> block(std::size_t block) const { return rows(block_range(block)); }

 private:
  Partition(std::vector<std::uint32_t> order, std::vector<std::uint64_t> starts, std::size_t samples, std::size_t workers,
            std::size_t blocks, std::uint64_t seed);
  /// for_real: false only checks that HDF5 can read the partition, for which contiguous arrays need not be read.
  static std::optional<Partition> read(const Dataset& dataset, const PartitionName& name, bool for_real);
  std::size_t start(std::size_t split) const;

  std::vector<std::uint32_t> order_;   // [samples] rows, split after split; empty: sizes only
  std::vector<std::uint64_t> starts_;  // [workers * blocks + 1] where each split begins; empty: cut evenly
  std::size_t samples_;
  std::size_t workers_;
  std::size_t blocks_;
  std::uint64_t seed_;
  bool whole_utterances_ = false;
  std::string kind_ = std::string(random_kind);
};

/// M, so that splits of a partition N×M of this training set last about `split_duration_s`; at least 1.
/// Throws ConfigError for a data set without a frame shift and for a duration that is not positive.
std::size_t blocks_of_duration(const DatasetInfo& info, std::size_t workers, double split_duration_s);

/// The partitions in a data file, sorted by workers, blocks, seed and kind. A group with another name is listed
/// with zeros.
std::vector<PartitionName> stored_partitions(const Dataset& dataset);

}  // namespace paragrad::data
