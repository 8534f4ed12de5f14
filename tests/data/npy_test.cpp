// Types of NumPy's arrays, by the names that NumPy prints.
#include "data/npy.hpp"

#include "catch.hpp"

using namespace paragrad::data;

TEST_CASE("arrays are named by their types as NumPy names them", "[data]") {
  const auto named = [](char kind, std::size_t bytes) {
    NpyArray array;
    array.kind = kind;
    array.element_bytes = bytes;
    return array.dtype();
  };
  CHECK(named('b', 1) == "bool");
  CHECK(named('u', 1) == "uint8");
  CHECK(named('i', 8) == "int64");
  CHECK(named('f', 2) == "float16");
  CHECK(named('U', 8) == "text");
  CHECK(named('S', 3) == "text");
}
