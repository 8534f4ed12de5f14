#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "speech/matrix.hpp"

namespace paragrad::speech {

/// What stands between words in the text forms of Kaldi.
inline constexpr std::string_view kaldi_spaces = " \t\r\n";

/// Where something lies in a file of Kaldi, for the sentence that says what is wrong with it.
struct KaldiPosition {
  std::string file;
  std::string key;  ///< utterance or speaker; empty: unknown
};

/// One value of an archive where it lies in memory, as Kaldi writes it:
///   matrices  FM, DM (float, double), CM, CM2, CM3 (compressed), in text "[ 1 2 \n 3 4 ]"
///   vectors   FV, DV, in text "[ 1 2 3 ]"
///   int32     each element after a byte that tells its size; in text "1 2 3", with or without brackets
/// Sizes are held against the bytes that are really there before any memory is asked for.
class KaldiObject {
 public:
  /// The object at `begin` of a file's `bytes`. Throws ConfigError where there is none, or it is truncated or foreign.
  KaldiObject(std::string_view bytes, std::size_t begin, KaldiPosition place);

  std::size_t end() const { return end_; }  ///< where the next begins
  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }  ///< of a vector: its length, with one row (none if it is empty)

  // The content. Throws ConfigError for another kind of object and for text that is no number.
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
  std::string_view data_;        // numbers, without what stands before them
  std::size_t end_ = 0;
};

}  // namespace paragrad::speech
