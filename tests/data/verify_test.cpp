#include "data/verify.hpp"

#include <limits>

#include "catch.hpp"
#include "core/errors.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::data;

TEST_CASE("a file as it was written keeps every promise", "[data]") {
  const TemporaryFolder folder;
  samples_file(folder.file("bytes.h5"));
  float_file(folder.file("floats.h5"), 100, 7);
  CHECK(verify(folder.file("bytes.h5")).empty());
  CHECK(verify(folder.file("floats.h5")).empty());
}

TEST_CASE("numbers that are not finite are found, with their row", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  float_file(path, 100, 7);
  const float bad = GENERATE(std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity());
  patch(path, "/train/features", 7 * 42 + 3, bad);
  patch(path, "/train/features", 7 * 50, bad);
  const auto findings = verify(path);
  REQUIRE(findings.size() == 2);
  CHECK(findings[0] == "/train/features: 2 of 100 rows contain numbers that are not finite, the first is row 42");
  CHECK_THAT(findings[1], contains_text("content_sha256"));
}

TEST_CASE("labels outside the classes are found, with their row", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  samples_file(path);
  patch(path, "/valid/labels", 3, std::int32_t{GENERATE(4, -1)});
  const auto findings = verify(path);
  REQUIRE(findings.size() == 2);
  CHECK(findings[0] == "/valid/labels: 1 of 5 labels are out of range for 4 classes, the first in row 3");
}

TEST_CASE("a change that breaks no other promise is found by the checksum", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  samples_file(path);
  SECTION("a feature") { patch(path, "/train/features", 10, std::uint8_t{255}); }
  SECTION("a label") { patch(path, "/train/labels", 10, std::int32_t{0}); }
  SECTION("an offset") {
    auto file = Hdf5File::revise(path);
    const std::vector<std::int64_t> offsets{3};
    file.write_rows("/train/offsets", 1, std::span<const std::int64_t>(offsets));
    file.finish();
  }
  SECTION("the scale") {
    auto file = Hdf5File::revise(path);
    file.set_number("/", "feature_scale", 0.25);
    file.finish();
  }
  const auto findings = verify(path);
  REQUIRE(findings.size() == 1);
  CHECK_THAT(findings[0], contains_text("content_sha256 is ") && contains_text("but the content has"));
}
