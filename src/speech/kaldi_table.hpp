#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/file_map.hpp"
#include "speech/kaldi_object.hpp"

namespace paragrad::speech {

/// A table of Kaldi, from keys (utterances or speakers) to matrices or vectors: an archive (.ark), or a script (.scp) whose
/// lines tell for each key a file and, after a colon, an offset. Named as in Kaldi, "ark:FILE" and "scp:FILE", or by the
/// file alone, which is a script if it ends in .scp. File names in a script begin, as in Kaldi, in the working folder.
///
/// Making one reads the keys (in an archive: walks from object to object); objects are read when asked for. Files are
/// mapped, not copied. Not for use by two threads at once.
///
/// Throws ConfigError with one sentence: missing, truncated, foreign or compressed files, keys that come twice, sizes that
/// are impossible, and what is not read here: pipes, standard input, and ranges like [0:9] of a matrix.
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
  std::unordered_map<std::string, std::size_t> index_;  // looked up in, never walked through
  mutable std::optional<std::size_t> mapped_;
  mutable core::FileMap map_;  // of file mapped_
};

/// The matrix that is all a file holds, as compute-cmvn-stats writes one for all speakers; nothing if the file begins with a
/// key, as archives do.
std::optional<Matrix<double>> read_lone_matrix(const std::string& path);

/// A text file of lines "key value", as utt2spk. Throws ConfigError for other lines and for keys that come twice.
std::unordered_map<std::string, std::string> read_kaldi_map(const std::string& path);

}  // namespace paragrad::speech
