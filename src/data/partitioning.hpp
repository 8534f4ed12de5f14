#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/json_fwd.hpp"
#include "core/options.hpp"
#include "data/partition.hpp"
#include "data/partition_units.hpp"

namespace paragrad::data {

/// How a training set is divided among workers, from partitioners/catalogue.def. A kind of partition is the name of an
/// entry, perhaps with a parameter: "random", "dirichlet:0.1".
core::CatalogueInfo partitioner_catalogue();

/// The kind as stored in data files: "dirichlet:0.10" is "dirichlet:0.1". Throws ConfigError.
std::string settled_kind(std::string_view kind);

/// A partition N×M of this kind, the same for the same units and seed. Throws ConfigError if there are too few units, or if
/// they do not have what the kind goes by. Costs O(units + workers · classes) time and memory, except for random imaginary
/// units, which cost none.
Partition divide(const PartitionUnits& units, std::string_view kind, std::size_t workers, std::size_t blocks,
                 std::uint64_t seed);

/// How much the data of the workers differ.
struct PartitionSpread {
  std::size_t least = 0, most = 0;  ///< samples of a worker
  std::size_t least_of_split = 0, most_of_split = 0;
  /// Mean over workers of the total variation distance between their labels' distribution and that of all: 0 if they are
  /// alike, towards 1 if each worker has classes of its own. Negative: there are no labels, or no rows.
  double label_distance = -1;
};

/// dataset: null if the rows are not its samples.
PartitionSpread spread_of(const Partition& partition, const Dataset* dataset);

/// For records: {"kind": …, "samples": [least, most], "label_distance": …}, the last one where there are labels.
core::Json to_json(const std::string& kind, const PartitionSpread& spread);

/// "1203 to 9204 samples per worker, label distributions 0.61 from the mean"; without a full stop.
std::string describe(const PartitionSpread& spread);

}  // namespace paragrad::data
