#include "speech/kaldi_object.hpp"

#include <algorithm>
#include <type_traits>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/numbers.hpp"
#include "speech/number_at.hpp"

namespace paragrad::speech {
namespace {

/// Removes and returns the next word of `text`; empty at the end.
std::string_view next_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kaldi_spaces), text.size()));
  const auto word = text.substr(0, text.find_first_of(kaldi_spaces));
  text.remove_prefix(word.size());
  return word;
}

std::size_t words_in(std::string_view text) {
  std::size_t words = 0;
  while (!next_word(text).empty()) ++words;
  return words;
}

}  // namespace

void KaldiObject::fail(const std::string& why) const {
  const auto where = place_.key.empty() ? std::string() : core::format(", '{}'", place_.key);
  throw core::ConfigError(core::format("Kaldi file '{}'{}: {}", place_.file, where, why));
}

KaldiObject::KaldiObject(std::string_view bytes, std::size_t begin, KaldiPosition place) : place_(std::move(place)) {
  if (begin >= bytes.size()) fail(core::format("it has {} bytes, so there is nothing at offset {}", bytes.size(), begin));
  if (bytes.substr(begin, 2) == std::string_view("\0B", 2))
    locate_binary(bytes, begin + 2);
  else
    locate_text(bytes, begin);
}

void KaldiObject::take(std::string_view bytes, std::size_t at, unsigned __int128 size) {
  if (at > bytes.size() || size > bytes.size() - at)
    fail(core::format("it is truncated or damaged: {}x{} numbers extend beyond its end", rows_, columns_));
  data_ = bytes.substr(at, static_cast<std::size_t>(size));
  end_ = at + static_cast<std::size_t>(size);
}

void KaldiObject::locate_binary(std::string_view bytes, std::size_t at) {
  if (at < bytes.size() && bytes[at] == 4) return locate_values(bytes, at, Kind::whole);
  const auto token = bytes.substr(at, std::min<std::size_t>(bytes.substr(at, 8).find(' '), 8));
  at += token.size() + 1;
  if (token == "FM") return locate_values(bytes, at, Kind::float_matrix);
  if (token == "DM") return locate_values(bytes, at, Kind::double_matrix);
  if (token == "FV") return locate_values(bytes, at, Kind::float_vector);
  if (token == "DV") return locate_values(bytes, at, Kind::double_vector);
  if (token == "CM") return locate_compressed(bytes, at, Kind::by_columns);
  if (token == "CM2") return locate_compressed(bytes, at, Kind::two_bytes);
  if (token == "CM3") return locate_compressed(bytes, at, Kind::one_byte);
  const bool printable = std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 127; });
  fail(core::format("it is {}, neither a matrix (FM, DM, CM, CM2, CM3) nor a vector (FV, DV, int32)",
                    printable ? core::format("'{}'", token) : "unknown binary data"));
}

/// Sizes, each after a byte with its length of 4, then numbers.
void KaldiObject::locate_values(std::string_view bytes, std::size_t at, Kind kind) {
  kind_ = kind;
  const bool is_matrix = kind == Kind::float_matrix || kind == Kind::double_matrix;
  std::size_t sizes[2] = {1, 0};
  for (std::size_t i = is_matrix ? 0 : 1; i < 2; ++i, at += 5) {
    if (at > bytes.size() || bytes.size() - at < 5) fail("it ends within the size of an object");
    const auto size = number_at<std::int32_t>(bytes, at + 1);
    if (bytes[at] != 4 || size < 0) fail("the size of an object is damaged");
    sizes[i] = static_cast<std::size_t>(size);
  }
  rows_ = sizes[1] == 0 ? 0 : sizes[0];
  columns_ = sizes[0] == 0 ? 0 : sizes[1];
  if (is_matrix && (sizes[0] == 0) != (sizes[1] == 0))
    fail(core::format("a matrix of {}x{} is damaged", sizes[0], sizes[1]));
  const std::size_t each = kind == Kind::whole                                          ? 5
                           : kind == Kind::double_matrix || kind == Kind::double_vector ? sizeof(double)
                                                                                        : sizeof(float);
  take(bytes, at, static_cast<unsigned __int128>(rows_) * columns_ * each);
}

/// min, range, rows, columns, then codes; in CM four two-byte percentiles per column precede the codes.
void KaldiObject::locate_compressed(std::string_view bytes, std::size_t at, Kind kind) {
  kind_ = kind;
  if (at > bytes.size() || bytes.size() - at < 16) fail("it ends within the header of a compressed matrix");
  least_ = number_at<float>(bytes, at);
  range_ = number_at<float>(bytes, at + 4);
  const auto rows = number_at<std::int32_t>(bytes, at + 8), columns = number_at<std::int32_t>(bytes, at + 12);
  if (rows < 0 || columns < 0 || (rows == 0) != (columns == 0))
    fail(core::format("a compressed matrix of {}x{} is damaged", rows, columns));
  rows_ = static_cast<std::size_t>(rows);
  columns_ = static_cast<std::size_t>(columns);
  const std::size_t each = kind == Kind::two_bytes ? 2 : 1, per_column = kind == Kind::by_columns ? 8 : 0;
  take(bytes, at + 16, (static_cast<unsigned __int128>(rows_) * each + per_column) * columns_);
  // Kaldi writes four bytes more for an empty matrix than it reads.
  if (rows_ == 0 && kind == Kind::by_columns && bytes.substr(end_, 4) == std::string_view("\0\0\0\0", 4)) end_ += 4;
}

void KaldiObject::locate_text(std::string_view bytes, std::size_t at) {
  at = std::min(bytes.find_first_not_of(" \t\r", at), bytes.size());
  const bool bracket = at < bytes.size() && bytes[at] == '[';
  const auto close = bytes.find(bracket ? ']' : '\n', at);
  if (bracket && close == std::string_view::npos) fail("it is truncated: a '[' without a ']'");
  data_ = bracket ? bytes.substr(at + 1, close - at - 1) : bytes.substr(at, close - at);
  end_ = close == std::string_view::npos ? bytes.size() : close + 1;
  for (auto rest = data_; !rest.empty();) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::size_t words = words_in(line);
    if (words == 0) continue;
    if (rows_ > 0 && words != columns_)
      fail(core::format("row {} has {} numbers, but the row before it has {}", rows_ + 1, words, columns_));
    columns_ = words;
    ++rows_;
  }
}

template <class T, class Stored>
std::vector<T> KaldiObject::values() const {
  std::vector<T> values(data_.size() / sizeof(Stored));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(number_at<Stored>(data_, i * sizeof(Stored)));
  return values;
}

template <class T>
std::vector<T> KaldiObject::numbers() const {
  std::vector<T> numbers;
  auto rest = data_;
  for (auto word = next_word(rest); !word.empty(); word = next_word(rest)) {
    const auto value = core::number_of<T>(word);
    if (!value) fail(core::format("'{}' is not {}", word.substr(0, 40), std::is_integral_v<T> ? "an int32" : "a number"));
    numbers.push_back(*value);
  }
  return numbers;
}

/// CM, column by column: codes 0, 64, 192 and 255 are the column's minimum, quartiles and maximum.
void KaldiObject::expand_columns(Matrix<float>& matrix) const {
  const auto codes = data_.substr(8 * columns_);
  for (std::size_t c = 0; c < columns_; ++c) {
    float p[4];
    for (std::size_t i = 0; i < 4; ++i)
      p[i] = least_ + range_ * 1.52590218966964e-05f * static_cast<float>(number_at<std::uint16_t>(data_, 8 * c + 2 * i));
    for (std::size_t r = 0; r < rows_; ++r) {
      const int code = static_cast<std::uint8_t>(codes[c * rows_ + r]);
      const double value = code <= 64    ? p[0] + (p[1] - p[0]) * code * (1 / 64.0)
                           : code <= 192 ? p[1] + (p[2] - p[1]) * (code - 64) * (1 / 128.0)
                                         : p[2] + (p[3] - p[2]) * (code - 192) * (1 / 63.0);
      matrix.row(r)[c] = static_cast<float>(value);
    }
  }
}

/// CM2 and CM3, row by row: code 0 is the minimum of the matrix, the largest code its maximum.
template <class Stored>
void KaldiObject::expand(Matrix<float>& matrix) const {
  const auto step = static_cast<float>(range_ * (1.0 / static_cast<Stored>(~0)));
  for (std::size_t i = 0; i < matrix.values.size(); ++i)
    matrix.values[i] = least_ + static_cast<float>(number_at<Stored>(data_, i * sizeof(Stored))) * step;
}

template <class T>
Matrix<T> KaldiObject::matrix() const {
  Matrix<T> matrix;
  matrix.rows = rows_;
  matrix.columns = columns_;
  if (kind_ == Kind::float_matrix) {
    matrix.values = values<T, float>();
  } else if (kind_ == Kind::double_matrix) {
    matrix.values = values<T, double>();
  } else if (kind_ == Kind::text) {
    matrix.values = numbers<T>();
  } else if (kind_ == Kind::by_columns || kind_ == Kind::two_bytes || kind_ == Kind::one_byte) {
    Matrix<float> expanded(rows_, columns_);
    if (kind_ == Kind::by_columns) expand_columns(expanded);
    if (kind_ == Kind::two_bytes) expand<std::uint16_t>(expanded);
    if (kind_ == Kind::one_byte) expand<std::uint8_t>(expanded);
    matrix.values.assign(expanded.values.begin(), expanded.values.end());
  } else {
    fail("it is a vector, not a matrix");
  }
  return matrix;
}

template Matrix<float> KaldiObject::matrix() const;
template Matrix<double> KaldiObject::matrix() const;

std::vector<float> KaldiObject::floats() const {
  if (kind_ == Kind::float_vector) return values<float, float>();
  if (kind_ == Kind::double_vector) return values<float, double>();
  if (kind_ == Kind::text && rows_ <= 1) return numbers<float>();
  fail("it is not a vector of floating-point numbers");
}

std::vector<std::int32_t> KaldiObject::whole() const {
  if (kind_ == Kind::text && rows_ <= 1) return numbers<std::int32_t>();
  if (kind_ != Kind::whole) fail("it is not a vector of int32");
  std::vector<std::int32_t> values(columns_);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (data_[5 * i] != 4) fail(core::format("element {} of a vector of int32 does not state a size of 4 bytes", i));
    values[i] = number_at<std::int32_t>(data_, 5 * i + 1);
  }
  return values;
}

}  // namespace paragrad::speech
