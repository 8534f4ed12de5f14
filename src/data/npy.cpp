#include "data/npy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/numbers.hpp"
#include "core/printable.hpp"

namespace paragrad::data {
namespace {

/// The dictionary of a header, a Python literal with just the keys descr, fortran_order and shape.
class NpyHeader {
 public:
  NpyHeader(std::string_view text, const std::string& name) : text_(text), name_(name) {
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      read_value(key);
      if (accept(',')) continue;
      expect('}');
      break;
    }
    skip_spaces();
    if (at_ != text_.size()) throw wrong("text follows its dictionary");
    if (!descr_ || !fortran_order_ || !shape_) throw wrong("it lacks descr, fortran_order or shape");
  }

  std::string_view descr() const { return *descr_; }
  bool fortran_order() const { return *fortran_order_; }
  const std::vector<std::size_t>& shape() const { return *shape_; }

 private:
  core::ConfigError wrong(const std::string& why) const {
    return core::ConfigError(core::format("the header of the array '{}' is no NumPy header: {}", name_, why));
  }

  void read_value(std::string_view key) {
    if (key == "descr" && !descr_) {
      skip_spaces();
      if (at_ < text_.size() && text_[at_] == '[')
        throw core::ConfigError(core::format("the array '{}' is one of records: give arrays of numbers", name_));
      descr_ = quoted();
    } else if (key == "fortran_order" && !fortran_order_) {
      fortran_order_ = truth();
    } else if (key == "shape" && !shape_) {
      shape_ = tuple();
    } else {
      throw wrong(core::format("it has the key '{}' twice, or should not have it", key));
    }
  }

  void skip_spaces() { at_ = std::min(text_.find_first_not_of(" \t\r\n\f", at_), text_.size()); }
  bool accept(char wanted) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) throw wrong(core::format("'{}' is missing at character {}", wanted, at_ + 1));
  }
  bool accept_word(std::string_view word) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  std::string_view quoted() {
    accept_word("u");  // of Python 2
    const char quote = accept('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const std::size_t begin = at_, end = text_.find(quote, begin);
    if (end == std::string_view::npos) throw wrong("a quotation mark is missing");
    at_ = end + 1;
    return text_.substr(begin, end - begin);
  }
  bool truth() {
    if (accept_word("True")) return true;
    if (accept_word("False")) return false;
    throw wrong("fortran_order is neither True nor False");
  }
  std::vector<std::size_t> tuple() {
    std::vector<std::size_t> values;
    expect('(');
    while (!accept(')')) {
      skip_spaces();
      std::size_t value = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (error != std::errc()) throw wrong("its shape is no tuple of sizes");
      at_ = static_cast<std::size_t>(end - text_.data());
      values.push_back(value);
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // a long integer of Python 2
      if (accept(',')) continue;
      expect(')');
      break;
    }
    return values;
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
  std::optional<std::string_view> descr_;
  std::optional<bool> fortran_order_;
  std::optional<std::vector<std::size_t>> shape_;
};

/// NumPy's code with a size, "f4", of one of its other names for a type; other texts as they are.
std::string_view sized(std::string_view name) {
  constexpr std::array<std::array<std::string_view, 2>, 24> known{{
      {"bool", "b1"},   {"?", "b1"},       {"uint8", "u1"}, {"B", "u1"},       {"int8", "i1"}, {"b", "i1"},
      {"uint16", "u2"}, {"H", "u2"},       {"int16", "i2"}, {"h", "i2"},       {"I", "u4"},    {"uint32", "u4"},
      {"i", "i4"},      {"int32", "i4"},   {"Q", "u8"},     {"uint64", "u8"},  {"q", "i8"},    {"int64", "i8"},
      {"e", "f2"},      {"float16", "f2"}, {"f", "f4"},     {"float32", "f4"}, {"d", "f8"},    {"float64", "f8"},
  }};
  for (const auto& [other, code] : known)
    if (name == other) return code;
  return name;
}

/// Sets kind, size and byte order from NumPy's code, such as "<i8"; without a byte order it is this machine's.
void read_type(std::string_view code, NpyArray& array) {
  constexpr std::array<std::string_view, 12> known{"u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "b1"};
  const bool ordered = !code.empty() && std::string_view("|<>=").find(code[0]) != std::string_view::npos;
  const std::string_view type = sized(code.substr(ordered ? 1 : 0));
  array.big_endian = !code.empty() && code[0] == '>';
  if (const auto length = core::number_of<std::uint32_t>(type.substr(std::min<std::size_t>(1, type.size())));
      !type.empty() && (type[0] == 'U' || type[0] == 'S') && length && *length > 0) {
    array.kind = type[0];
    array.element_bytes = std::size_t{*length} * (type[0] == 'U' ? 4 : 1);
    return;
  }
  if (std::ranges::find(known, type) == known.end())
    throw core::ConfigError(core::format(
        "the array '{}' has elements of NumPy's type '{}': give integers, floating-point numbers of 16, 32 or 64 bits, or "
        "texts{}",
        array.name, code, type == "O" ? " (of an array of objects, array.astype(str))" : ""));
  array.kind = type[0];
  array.element_bytes = static_cast<std::size_t>(type[1] - '0');
}

/// The value of a number of 16 bits (IEEE 754): sign, 5 bits of exponent, 10 of fraction.
double of_half(std::uint64_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 0x1f);
  const double fraction = static_cast<double>(bits & 0x3ff) / 1024;
  const double sign = bits >> 15 != 0 ? -1 : 1;
  if (exponent == 0x1f)
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  return sign * (exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, exponent - 15));
}

}  // namespace

std::string NpyArray::dtype() const {
  if (is_text()) return "text";
  if (kind == 'b') return "bool";
  return core::format("{}{}", kind == 'f' ? "float" : kind == 'u' ? "uint" : "int", 8 * element_bytes);
}

std::string NpyArray::place(std::size_t i) const {
  std::vector<std::size_t> indices(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; i /= shape[d]) indices[d] = i % shape[d];
  return core::format("{}[{}]", name, core::join(indices, ", "));
}

std::string NpyArray::text(std::size_t i) const {
  if (is_text()) {
    const std::span<const std::byte> element = data.subspan(stored(i) * element_bytes, element_bytes);
    std::string result;
    const std::size_t width = kind == 'U' ? 4 : 1;
    for (std::size_t at = 0; at < element.size(); at += width) {
      std::uint32_t code = 0;
      for (std::size_t k = 0; k < width; ++k)
        code = code << 8 | std::to_integer<std::uint32_t>(element[at + (big_endian ? k : width - 1 - k)]);
      core::append_utf8(result, code);
    }
    result.erase(result.find_last_not_of('\0') + 1);
    return result;
  }
  if (kind == 'u') return core::format("{}", bits(i));
  return whole() ? core::format("{}", integer(i)) : core::format("{}", number(i));
}

std::size_t NpyArray::stored(std::size_t i) const {
  if (!fortran_order) return i;
  std::size_t place = 0;
  std::size_t slower = elements();  // elements under one index of the dimension, in C order
  std::size_t faster = 1;           // stored between neighbours along the dimension
  for (const std::size_t size : shape) {
    slower /= size;
    place += i / slower % size * faster;
    faster *= size;
  }
  return place;
}

std::uint64_t NpyArray::bits(std::size_t i) const {
  const std::size_t begin = stored(i) * element_bytes;
  std::uint64_t value = 0;
  for (std::size_t k = 0; k < element_bytes; ++k)
    value = value << 8 | std::to_integer<std::uint64_t>(data[begin + (big_endian ? k : element_bytes - 1 - k)]);
  return value;
}

NpyArray NpyArray::rows(std::span<const std::size_t> which, std::size_t dimensions, std::vector<std::byte>& storage) const {
  NpyArray result = *this;
  std::size_t elements_of_row = 1;
  for (std::size_t d = dimensions; d < shape.size(); ++d) elements_of_row *= shape[d];
  storage.clear();
  storage.reserve(which.size() * elements_of_row * element_bytes);
  for (const std::size_t row : which)
    for (std::size_t i = row * elements_of_row; i < (row + 1) * elements_of_row; ++i) {
      const auto element = data.subspan(stored(i) * element_bytes, element_bytes);
      storage.insert(storage.end(), element.begin(), element.end());
    }
  result.fortran_order = false;
  result.shape.assign(1, which.size());
  result.shape.insert(result.shape.end(), shape.begin() + static_cast<std::ptrdiff_t>(dimensions), shape.end());
  result.data = storage;
  return result;
}

std::int64_t NpyArray::integer(std::size_t i) const {
  const std::uint64_t value = bits(i);
  if (kind == 'b') return value != 0 ? 1 : 0;
  if (kind == 'u')
    return static_cast<std::int64_t>(std::min<std::uint64_t>(value, std::numeric_limits<std::int64_t>::max()));
  const std::size_t unused = 64 - 8 * element_bytes;
  return static_cast<std::int64_t>(value << unused) >> unused;
}

double NpyArray::number(std::size_t i) const {
  const std::uint64_t value = bits(i);
  if (kind == 'u') return static_cast<double>(value);
  if (whole()) return static_cast<double>(integer(i));
  if (element_bytes == 8) return std::bit_cast<double>(value);
  return element_bytes == 4 ? std::bit_cast<float>(static_cast<std::uint32_t>(value)) : of_half(value);
}

NpyArray parse_npy(std::span<const std::byte> file, const std::string& name) {
  const auto byte = [&](std::size_t i) { return std::to_integer<std::size_t>(file[i]); };
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const std::size_t version = file.size() < 12 ? 0 : byte(6), length_bytes = version == 1 ? 2 : 4;
  if (!text.starts_with("\x93NUMPY") || version < 1 || version > 3)
    throw core::ConfigError(core::format("'{}' is no NumPy array of version 1, 2 or 3", name));
  std::size_t length = 0;
  for (std::size_t k = length_bytes; k-- > 0;) length = length << 8 | byte(8 + k);
  const std::size_t begin = 8 + length_bytes;
  if (length > file.size() - begin) throw core::ConfigError(core::format("the array '{}' ends within its header", name));

  const NpyHeader header(text.substr(begin, length), name);
  NpyArray array;
  array.name = name;
  read_type(header.descr(), array);
  array.fortran_order = header.fortran_order();
  array.shape = header.shape();
  array.data = file.subspan(begin + length);
  unsigned __int128 wanted = array.element_bytes;
  for (const std::size_t size : array.shape) wanted = std::min<unsigned __int128>(wanted * size, std::uint64_t{1} << 63);
  if (wanted != array.data.size())
    throw core::ConfigError(core::format("the array '{}' has {} bytes of data, but its shape {} and type {} need {}", name,
                                         array.data.size(), core::join(array.shape, "x"), array.dtype(),
                                         wanted >> 63 != 0 ? "more" : std::to_string(static_cast<std::uint64_t>(wanted))));
  return array;
}

}  // namespace paragrad::data
