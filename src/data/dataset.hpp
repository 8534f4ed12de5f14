#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paragrad::data {

enum class Subset : std::size_t { train, valid, test };
inline constexpr std::array<std::string_view, 3> subset_names{"train", "valid", "test"};

enum class FeatureType { uint8, float32 };

/// What a data file says of itself; see data/README.md for the format.
struct DatasetInfo {
  std::string path;
  std::string name;
  std::string source;
  std::string licence;
  std::vector<std::string> source_sha256;  ///< "file name: digest" of the files it was made from
  std::string content_sha256;  ///< of features, labels, offsets, scale and classes; ties partitions to their data set
  FeatureType feature_type = FeatureType::float32;
  float feature_scale = 1;  ///< the network sees scale * stored + offset
  float feature_offset = 0;
  std::size_t dim = 0;
  std::size_t classes = 0;
  std::array<std::size_t, 3> samples{};    ///< of each Subset
  std::array<std::size_t, 3> sequences{};  ///< 0 where a subset has no offsets
};

/// A data file, opened read-only and mapped into memory: the pages belong to the process (in fact to the machine), not to a
/// worker, so any number of emulated workers share one copy. Immutable; all functions may be called from any thread.
class Dataset {
 public:
  /// Reads the description and maps features and labels; cost independent of the number of samples.
  /// Throws ConfigError: missing, truncated or foreign file, counts that do not match.
  static std::shared_ptr<const Dataset> open(const std::string& path);

  ~Dataset();
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  const DatasetInfo& info() const;
  std::size_t bytes_per_row() const;  ///< as stored

  /// Stored bytes of one row, [dim] of feature_type.
  std::span<const std::byte> row(Subset subset, std::size_t sample) const;
  std::int32_t label(Subset subset, std::size_t sample) const;
  std::span<const std::int64_t> offsets(Subset subset) const;  ///< [sequences + 1], empty without sequences

  /// Writes scale * stored + offset of `rows` stored rows (contiguous in `stored`) to features[rows][dim].
  void decode(std::span<const std::byte> stored, std::span<float> features) const;

 private:
  struct Mapping;
  explicit Dataset(std::unique_ptr<Mapping> mapping);
  std::unique_ptr<Mapping> mapping_;
};

}  // namespace paragrad::data
