#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "speech/kaldi_object.hpp"
#include "system/file_map.hpp"

namespace paragrad::speech {

/// A Kaldi table from keys (utterances or speakers) to matrices or vectors: an archive (.ark), or a script (.scp) whose
/// lines give for each key a file and, after a colon, an offset. Named as in Kaldi, "ark:FILE" and "scp:FILE", or by the
/// file alone, which is a script if it ends in .scp. As in Kaldi, file names in a script are relative to the working folder.
///
/// The constructor reads the keys (in an archive by walking from object to object); objects are read on request. Files are
/// mapped, not copied. Not thread-safe.
///
/// Throws ConfigError for missing, truncated, foreign or compressed files, duplicate keys, impossible sizes, and unsupported
/// inputs: pipes, standard input, and ranges like [0:9] of a matrix.
class KaldiTable {
 public:
  explicit KaldiTable(const std::string& name);

  std::size_t size() const { return entries_.size(); }
  const std::string& key(std::size_t entry) const { return entries_[entry].key; }  ///< in the order of the table
  std::optional<std::size_t> find(const std::string& key) const;

  /// The object of an entry; valid until the next call.
  KaldiObject object(std::size_t entry) const;

 private:
  struct Entry {
    std::string key;
    std::size_t file = 0;  // of files_
    std::uint64_t offset = 0;
  };

  void read_archive(const std::string& path);
  void read_script(const std::string& path);
  void add_line(std::string_view line, std::size_t number, const std::string& path);
  void add(std::string key, std::size_t file, std::uint64_t offset, const std::string& path);
  std::string_view bytes_of(std::size_t file) const;

  std::vector<std::string> files_;
  std::unordered_map<std::string, std::size_t> file_numbers_;
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::size_t> index_;  // for lookup only, never iterated
  mutable std::optional<std::size_t> mapped_;
  mutable system::FileMap map_;  // of file mapped_
};

/// The matrix of a file that contains nothing else, as compute-cmvn-stats writes it for all speakers; nullopt if the file
/// begins with a key, as archives do.
std::optional<Matrix<double>> read_lone_matrix(const std::string& path);

/// Reads a text file of lines "key value", like utt2spk. Throws ConfigError for other lines and for duplicate keys.
std::unordered_map<std::string, std::string> read_kaldi_map(const std::string& path);

}  // namespace paragrad::speech
