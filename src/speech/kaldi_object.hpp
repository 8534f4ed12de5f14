#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "speech/matrix.hpp"

namespace paragrad::speech {

/// Separators between words in Kaldi's text formats.
inline constexpr std::string_view kaldi_spaces = " \t\r\n";

/// A position in a Kaldi file, for error messages.
struct KaldiPosition {
  std::string file;
  std::string key;  ///< utterance or speaker; empty: unknown
};

/// A view of one value of an archive in memory, as Kaldi writes it:
///   matrices  FM, DM (float, double), CM, CM2, CM3 (compressed), in text "[ 1 2 \n 3 4 ]"
///   vectors   FV, DV, in text "[ 1 2 3 ]"
///   int32     each element after a byte with its size; in text "1 2 3", with or without brackets
/// Sizes are checked against the bytes present before any memory is allocated.
class KaldiObject {
 public:
  /// The object at `begin` of a file's `bytes`. Throws ConfigError if it is missing, truncated or of an unknown format.
  KaldiObject(std::string_view bytes, std::size_t begin, KaldiPosition place);

  std::size_t end() const { return end_; }  ///< start of the next object
  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }  ///< for a vector its length; it has one row (none if it is empty)

  // The content. Throws ConfigError for another kind of object and for text that is not a number.
  template <class T>
  Matrix<T> matrix() const;                 ///< T: float or double; converted
  std::vector<float> floats() const;        ///< a vector
  std::vector<std::int32_t> whole() const;  ///< a vector of int32

 private:
  enum class Kind { float_matrix, double_matrix, by_columns, two_bytes, one_byte, float_vector, double_vector, whole, text };

  void locate_binary(std::string_view bytes, std::size_t at);
  void locate_values(std::string_view bytes, std::size_t at, Kind kind);
  void locate_compressed(std::string_view bytes, std::size_t at, Kind kind);
  void locate_text(std::string_view bytes, std::size_t at);
  void take(std::string_view bytes, std::size_t at, unsigned __int128 size);

  template <class T, class Stored>
  std::vector<T> values() const;
  template <class T>
  std::vector<T> numbers() const;
  void expand_columns(Matrix<float>& matrix) const;
  template <class Stored>
  void expand(Matrix<float>& matrix) const;
  [[noreturn]] void fail(const std::string& why) const;

  KaldiPosition place_;
  Kind kind_ = Kind::text;
  std::size_t rows_ = 0, columns_ = 0;
  float least_ = 0, range_ = 0;  // of compressed matrices
  std::string_view data_;        // numbers, without the header
  std::size_t end_ = 0;
};

}  // namespace paragrad::speech
