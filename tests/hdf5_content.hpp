#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "data/hdf5_file.hpp"
#include "hdf5_detours.hpp"
#include "mutations.hpp"

namespace paragrad::test {

/// What an HDF5 file holds, to be damaged and written to an intact file: so damage reaches this program's code, and not
/// HDF5, whose own is left to tests/app/fuzz_test.py. HDF5 has checksums over everything but the arrays.
struct Hdf5Content {
  using Value = std::variant<std::string, std::vector<std::string>, double, std::uint64_t>;
  struct Attribute {
    std::string object, name;
    Value value;
  };
  struct Array {
    std::string name;
    data::ElementType type{};
    std::vector<std::size_t> shape;
    std::string bytes;
    Detour detour = Detour::none;
  };

  std::vector<Attribute> attributes;
  std::vector<Array> arrays;

  /// Of the arrays and texts, in bytes.
  std::size_t size() const {
    std::size_t bytes = 0;
    for (const Array& array : arrays) bytes += array.bytes.size();
    for (const Attribute& attribute : attributes) {
      if (const auto* text = std::get_if<std::string>(&attribute.value)) bytes += text->size();
      if (const auto* texts = std::get_if<std::vector<std::string>>(&attribute.value))
        for (const std::string& one : *texts) bytes += one.size();
    }
    return bytes;
  }

  template <class T>
  void add(const std::string& name, const std::vector<T>& values, std::vector<std::size_t> shape = {}) {
    if (shape.empty()) shape = {values.size()};
    arrays.push_back({name,
                      data::element_type_of<T>(),
                      std::move(shape),
                      {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)}});
  }

  /// other: another file, where an array with a detour lies. Returns the path.
  std::string write(const std::string& path, const std::string& other = "") const {
    auto file = data::Hdf5File::create(path);
    for (const Array& array : arrays) {
      file.create_array(array.name, array.type, array.shape);
      write_bytes(file, array,
                  std::type_identity<
                      std::tuple<std::uint8_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float, double>>{});
    }
    for (const auto& [object, name, value] : attributes) {
      if (object != "/" && !file.exists(object)) continue;
      if (const auto* text = std::get_if<std::string>(&value)) file.set_text(object, name, *text);
      if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) file.set_texts(object, name, *texts);
      if (const auto* number = std::get_if<double>(&value)) file.set_number(object, name, *number);
      if (const auto* count = std::get_if<std::uint64_t>(&value)) file.set_count(object, name, *count);
    }
    file.finish();
    for (const Array& array : arrays) detour(path, array.name, array.detour, other);
    return path;
  }

 private:
  template <class... T>
  static void write_bytes(data::Hdf5File& file, const Array& array, std::type_identity<std::tuple<T...>>) {
    const auto write_as = [&]<class U>(std::type_identity<U>) {
      if (data::element_type_of<U>() != array.type || array.bytes.empty()) return;
      std::vector<U> values(array.bytes.size() / sizeof(U));
      array.bytes.copy(reinterpret_cast<char*>(values.data()), values.size() * sizeof(U));
      file.write_rows(array.name, 0, std::span<const U>(values));
    };
    (write_as(std::type_identity<T>{}), ...);
  }
};

/// Another value of the same kind, or rarely of another.
inline Hdf5Content::Value damaged(const Hdf5Content::Value& value, Draw& draw) {
  constexpr std::array<double, 7> numbers{0, -1, 1e-300, 1e300, NAN, INFINITY, 0.5};
  constexpr std::array<std::uint64_t, 8> counts{
      0, 1, 2, 3, 1u << 31, std::uint64_t{1} << 32, std::uint64_t{1} << 63, ~std::uint64_t{0}};
  switch (draw.below(10)) {
    case 0:
      return std::string("text");
    case 1:
      return std::vector<std::string>(draw.below(3), "text");
    case 2:
      return numbers[draw.below(numbers.size())];
    case 3:
      return counts[draw.below(counts.size())];
    default:
      break;
  }
  if (const auto* text = std::get_if<std::string>(&value)) return mutated(*text, draw.below(1'000'000));
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    auto changed = *texts;
    if (draw.below(2) == 0 || changed.empty()) changed.resize(draw.below(2 * changed.size() + 2));
    if (!changed.empty()) changed[draw.below(changed.size())] = mutated("text", draw.below(1'000'000));
    return changed;
  }
  if (const auto* count = std::get_if<std::uint64_t>(&value); count != nullptr && draw.below(2) == 0)
    return *count + (draw.below(2) == 0 ? 1 : ~std::uint64_t{0});
  if (std::holds_alternative<double>(value)) return numbers[draw.below(numbers.size())];
  return counts[draw.below(counts.size())];
}

/// Elements changed, or another shape or type with as many bytes as it needs.
inline void damage(Hdf5Content::Array& array, Draw& draw) {
  constexpr std::array<data::ElementType, 7> types{
      data::ElementType::uint8,  data::ElementType::int32,   data::ElementType::uint32, data::ElementType::int64,
      data::ElementType::uint64, data::ElementType::float32, data::ElementType::float64};
  const std::string before = array.bytes;
  switch (draw.below(8)) {
    case 0:
      array.type = types[draw.below(types.size())];
      break;
    case 1:
      array.shape[draw.below(array.shape.size())] = draw.below(30);
      break;
    case 2:
      array.shape.insert(array.shape.begin() + static_cast<std::ptrdiff_t>(draw.below(array.shape.size() + 1)),
                         draw.below(3));
      break;
    case 3:
      if (array.shape.size() > 1) array.shape.pop_back();
      break;
    default:
      array.bytes = mutated(array.bytes, draw.below(1'000'000));
  }
  std::size_t elements = 1;
  for (const std::size_t extent : array.shape) elements *= extent;
  array.bytes.resize(elements * data::bytes_of(array.type), '\1');
}

/// One to three damages: an attribute or an array changed, renamed, left out or put somewhere else.
inline Hdf5Content damaged(Hdf5Content content, std::size_t input) {
  Draw draw(input);
  for (std::size_t damages = 1 + draw.below(3); damages > 0; --damages) {
    const std::size_t at = draw.below(content.attributes.size() + content.arrays.size());
    const std::size_t how = draw.below(10);
    if (at < content.attributes.size()) {
      auto& attribute = content.attributes[at];
      if (how == 0)
        content.attributes.erase(content.attributes.begin() + static_cast<std::ptrdiff_t>(at));
      else if (how == 1)
        attribute.name += '_';
      else
        attribute.value = damaged(attribute.value, draw);
    } else {
      auto& array = content.arrays[at - content.attributes.size()];
      if (how == 0)
        content.arrays.erase(content.arrays.begin() + static_cast<std::ptrdiff_t>(at - content.attributes.size()));
      else if (how == 1)
        array.name += '_';
      else if (how < 4)
        array.detour = static_cast<Detour>(draw.below(detours));
      else
        damage(array, draw);
    }
  }
  return content;
}

}  // namespace paragrad::test
