#include "python/python_codec.hpp"

#include <algorithm>
#include <cstring>

#include "python/user_code.hpp"

namespace paragrad::python {
namespace {

namespace nb = nanobind;

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Values = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

}  // namespace

PythonCodec::PythonCodec(nb::object given)
    : given_(std::move(given)),
      name_(nb::cast<std::string>(given_.attr("name"))),
      text_(nb::cast<std::string>(given_.attr("text"))) {}

PythonCodec::~PythonCodec() {
  const nb::gil_scoped_acquire lock;
  given_.reset();
}

std::size_t PythonCodec::bytes(const core::MatrixShape& shape) {
  const std::pair key{shape.rows, shape.columns};
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = bytes_.find(key); known != bytes_.end()) return known->second;
  }
  std::size_t bytes = 0;
  call_user(name_, "encode", [&] { bytes = nb::cast<std::size_t>(given_.attr("bytes")(shape.rows, shape.columns)); });
  const std::lock_guard lock(mutex_);
  return bytes_[key] = bytes;
}

void PythonCodec::encode(const core::MatrixShape& shape, std::span<const float> values, std::span<std::byte> code) {
  call_user(name_, "encode", [&] {
    const auto made = nb::cast<Bytes>(
        given_.attr("encode")(copied_array(values.data(), values.size()), shape.rows, shape.columns, bytes(shape)));
    std::memcpy(code.data(), made.data(), made.size());
  });
}

void PythonCodec::decode(const core::MatrixShape& shape, std::span<const std::byte> code, std::span<float> values) {
  call_user(name_, "decode", [&] {
    const auto* const begin = reinterpret_cast<const std::uint8_t*>(code.data());
    const auto found = nb::cast<Values>(given_.attr("decode")(copied_array(begin, bytes(shape)), shape.rows, shape.columns));
    std::copy_n(found.data(), values.size(), values.data());
  });
}

}  // namespace paragrad::python
