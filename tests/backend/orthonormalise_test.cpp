// Orthonormal columns, and the norm.
#include "backend/kernels/orthonormalise.hpp"

#include "catch.hpp"
#include "tests/backend/support.hpp"

using namespace paragrad::backend;
using namespace paragrad::backend::testing;

namespace {

using Matrix = std::vector<float>;  // [rows][rank]

double product(const Matrix& a, std::size_t i, const Matrix& b, std::size_t j, std::size_t rank) {
  double sum = 0;
  for (std::size_t r = 0; r < a.size() / rank; ++r) sum += double{a[r * rank + i]} * b[r * rank + j];
  return sum;
}

/// Largest difference of the products of columns from those of orthonormal ones.
double defect(const Matrix& matrix, std::size_t rank) {
  double largest = 0;
  for (std::size_t i = 0; i < rank; ++i)
    for (std::size_t j = 0; j <= i; ++j)
      largest = std::max(largest, std::abs(product(matrix, i, matrix, j, rank) - (i == j ? 1 : 0)));
  return largest;
}

}  // namespace

TEST_CASE("orthonormalise keeps what the first columns span", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  for (const std::size_t rank : {1u, 2u, 4u, 7u, 32u}) {
    for (const std::size_t rows : {32u, 33u, 1000u}) {
      const Matrix before = random_numbers(rows * rank, 1);
      Matrix matrix = before;
      device->run(Orthonormalise{rows, rank, matrix});
      CHECK(defect(matrix, rank) < 1e-6);
      for (std::size_t j = 0; j < rank; ++j) {  // column j lies in columns 0 … j of the result, and on the side of j
        double left = product(before, j, before, j, rank);
        for (std::size_t i = 0; i <= j; ++i) left -= std::pow(product(matrix, i, before, j, rank), 2);
        CHECK(std::abs(left) < 1e-4);
        CHECK(product(matrix, j, before, j, rank) > 0);
      }
    }
  }
}

TEST_CASE("columns that are nearly parallel become orthonormal too", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const std::size_t rows = 200, rank = 3;
  const auto direction = random_numbers(rows, 1), noise = random_numbers(rows * rank, 2);
  Matrix matrix(rows * rank);
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = direction[i / rank] + 1e-3f * noise[i];
  device->run(Orthonormalise{rows, rank, matrix});
  CHECK(defect(matrix, rank) < 1e-6);
}

TEST_CASE("a column that depends on those before it is replaced, always by the same direction", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const std::size_t rows = 50, rank = 5;  // 1 is zero, 2 twice the first, 4 the difference of 3 and the first
  Matrix matrix = random_numbers(rows * rank, 1);
  for (std::size_t r = 0; r < rows; ++r) {
    float* row = matrix.data() + r * rank;
    row[1] = 0;
    row[2] = 2 * row[0];
    row[4] = row[3] - row[0];
  }
  Matrix again = matrix;
  const Matrix before = matrix;
  device->run(Orthonormalise{rows, rank, matrix});
  device->run(Orthonormalise{rows, rank, again});
  CHECK(matrix == again);
  CHECK(defect(matrix, rank) < 1e-6);
  CHECK(product(matrix, 0, before, 0, rank) > 0);
}

TEST_CASE("zeros, equal columns and denormal numbers become an orthonormal basis, too", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  const float value = GENERATE(0.f, 1.f, 1e-44f, 1e-20f, 1e30f);
  for (const auto& [rows, rank] : {std::pair{32u, 1u}, {33u, 4u}, {1000u, 32u}, {32u, 32u}}) {
    Matrix matrix(rows * rank, value);
    device->run(Orthonormalise{rows, rank, matrix});
    CHECK(defect(matrix, rank) < 1e-6);
  }
}

TEST_CASE("more columns than rows leave as many as there are rows", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  Matrix matrix = random_numbers(3 * 6, 1);
  device->run(Orthonormalise{3, 6, matrix});
  for (std::size_t j = 0; j < 6; ++j) CHECK(product(matrix, j, matrix, j, 6) == Approx(j < 3 ? 1 : 0));
}

TEST_CASE("a NaN is not taken for a dependent column", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  Matrix matrix = random_numbers(40, 1);
  matrix[5] = not_a_number;
  device->run(Orthonormalise{20, 2, matrix});
  CHECK(std::isnan(matrix[5]));
}

TEST_CASE("cpu and reference give nearly the same orthonormal columns", "[backend]") {
  const auto cpu = make_device("cpu"), reference = make_device("reference");
  Matrix mine = random_numbers(777 * 5, 1), theirs = mine;
  cpu->run(Orthonormalise{777, 5, mine});
  reference->run(Orthonormalise{777, 5, theirs});
  CHECK(distance(mine, theirs) < 1e-7);
}

TEST_CASE("squared_norm adds up in double", "[backend]") {
  const auto device = make_device(GENERATE("reference", "cpu"));
  CHECK(device->squared_norm({}) == 0);
  CHECK(device->squared_norm(std::vector<float>{3, -4}) == 25);
  std::vector<float> x(100003, 1e-3f);
  x[7] = 1e4f;
  CHECK(device->squared_norm(x) == Approx(1e8 + 100002 * double{1e-3f} * double{1e-3f}).epsilon(1e-10));
  CHECK(std::isnan(device->squared_norm(poisoned(33))));
  CHECK(make_device("meta")->squared_norm(x) == 0);
}

TEST_CASE("squared_norm does not depend on the place of the array", "[backend]") {
  const auto device = make_device("cpu");
  const auto x = random_numbers(1000, 1);
  for (std::size_t shift = 0; shift < 20; ++shift) {
    std::vector<float> moved(shift + x.size());
    std::copy(x.begin(), x.end(), moved.end() - static_cast<std::ptrdiff_t>(x.size()));
    CHECK(device->squared_norm(std::span(moved).subspan(shift)) == device->squared_norm(x));
  }
}
