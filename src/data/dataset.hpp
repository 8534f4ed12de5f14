#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/encoding.hpp"
#include "data/context.hpp"

namespace paragrad::data {

enum class Subset : std::size_t { train, valid, test };
inline constexpr std::array<std::string_view, 3> subset_names{"train", "valid", "test"};

/// What a data file says of itself; see data/README.md for the format.
struct DatasetInfo {
  std::string path;
  std::string name;
  std::string source;
  std::string licence;
  std::vector<std::string> source_sha256;  ///< "file name: digest" of the files it was made from
  /// Of features, labels, offsets, utterances, speakers, scale, classes and context; ties partitions to their data set.
  std::string content_sha256;
  core::Encoding encoding;  ///< of features
  std::size_t dim = 0;      ///< of a sample as the network sees it: its frame and those of its context, from left to right
  std::size_t classes = 0;
  Context context;                         ///< spliced when loading, stored once
  double frame_shift_s = 0;                ///< from sample to sample of a sequence; 0: not known
  std::vector<std::string> class_names;    ///< [classes], as states of phones; or empty
  std::array<std::size_t, 3> samples{};    ///< of each Subset
  std::array<std::size_t, 3> sequences{};  ///< 0 where a subset has no offsets

  std::size_t frame_dim() const { return dim / context.frames(); }  ///< of a row as it is stored
};

/// A data file, opened read-only and mapped into memory: the pages belong to the process (in fact to the machine), not to a
/// worker, so any number of emulated workers share one copy. Immutable; all functions may be called from any thread.
class Dataset {
 public:
  /// Reads the description and maps features and labels; cost independent of the number of samples.
  /// `context`: of samples, instead of the file's. Throws ConfigError: missing, truncated or foreign file, counts that do
  /// not match, a context for samples that are no sequences.
  static std::shared_ptr<const Dataset> open(const std::string& path, const std::optional<Context>& context = {});

  ~Dataset();
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  const DatasetInfo& info() const;
  std::size_t bytes_per_row() const;  ///< as stored, without context

  /// Stored bytes of one row, [frame_dim] of encoding.type; and of several that follow each other.
  std::span<const std::byte> row(Subset subset, std::size_t sample) const { return rows(subset, sample, 1); }
  std::span<const std::byte> rows(Subset subset, std::size_t first, std::size_t count) const;
  std::int32_t label(Subset subset, std::size_t sample) const;
  std::span<const std::int64_t> offsets(Subset subset) const;  ///< [sequences + 1], empty without sequences

  /// The name of each sequence, and who speaks in it; valid as long as this data set. Empty where the file has none.
  std::vector<std::string_view> utterances(Subset subset) const;  ///< [sequences]
  std::vector<std::string_view> speakers(Subset subset) const;    ///< [sequences]

  /// What stored rows (contiguous in `stored`) mean, to features[rows][frame_dim]. Nothing is spliced here.
  void decode(std::span<const std::byte> stored, std::span<float> features) const;

 private:
  struct Mapping;
  explicit Dataset(std::unique_ptr<Mapping> mapping);
  std::unique_ptr<Mapping> mapping_;
};

}  // namespace paragrad::data
