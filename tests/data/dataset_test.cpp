#include "data/dataset.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>

#include "catch.hpp"
#include "core/errors.hpp"
#include "core/json.hpp"
#include "data/describe.hpp"
#include "data/verify.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::data;

TEST_CASE("a data file opens as it was written", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  const auto written = samples_file(path);
  const auto dataset = Dataset::open(path);
  const auto& info = dataset->info();
  CHECK(info.path == path);
  CHECK(info.name == "samples");
  CHECK(info.source == "made up");
  CHECK(info.licence == "none");
  CHECK(info.source_sha256 == std::vector<std::string>{"a: 1", "b: 2"});
  CHECK(info.content_sha256 == written.content_sha256);
  CHECK(info.content_sha256.size() == 64);
  CHECK(info.encoding.type == core::NumberType::uint8);
  CHECK(info.encoding.scale == 0.5f);
  CHECK(info.encoding.offset == -1);
  CHECK(info.dim == 3);
  CHECK(info.classes == 4);
  CHECK(info.samples == std::array<std::size_t, 3>{20, 5, 0});
  CHECK(info.sequences == std::array<std::size_t, 3>{10, 0, 0});
  CHECK(dataset->info().bytes_per_row() == 3);
  CHECK(dataset->offsets(Subset::train).size() == 11);
  CHECK(dataset->offsets(Subset::train)[3] == 6);
  CHECK(dataset->offsets(Subset::valid).empty());
  for (std::size_t r = 0; r < 20; ++r) {
    CHECK(dataset->label(Subset::train, r) == static_cast<int>(r % 4));
    for (std::size_t d = 0; d < 3; ++d) CHECK(std::to_integer<int>(dataset->row(Subset::train, r)[d]) == feature(r, d));
  }
  CHECK_THROWS_AS(dataset->row(Subset::train, 20), std::logic_error);
  CHECK_THROWS_AS(dataset->label(Subset::test, 0), std::logic_error);
}

TEST_CASE("decode gives scale * stored + offset", "[data]") {
  const TemporaryFolder folder;
  samples_file(folder.file("bytes.h5"));
  const auto bytes = Dataset::open(folder.file("bytes.h5"));
  std::vector<float> features(3);
  bytes->decode(bytes->row(Subset::train, 7), features);
  CHECK(features == std::vector<float>{21 * 0.5f - 1, 22 * 0.5f - 1, 23 * 0.5f - 1});

  float_file(folder.file("floats.h5"), 4, 2);
  const auto floats = Dataset::open(folder.file("floats.h5"));
  features.resize(2);
  floats->decode(floats->row(Subset::train, 1), features);
  CHECK(features == std::vector<float>{1, 1.125f});
  features.resize(3);
  CHECK_THROWS_AS(floats->decode(floats->row(Subset::train, 1), features), std::logic_error);
}

TEST_CASE("an open data set stays what it is when its file is replaced or removed", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  samples_file(path);
  const auto dataset = Dataset::open(path);
  float_file(path, 1000, 100);
  std::filesystem::remove(path);
  CHECK(std::to_integer<int>(dataset->row(Subset::train, 19)[2]) == feature(19, 2));
}

TEST_CASE("the checksum depends on content and on what the network sees, not on the name", "[data]") {
  const TemporaryFolder folder;
  const auto a = samples_file(folder.file("a.h5"), 20, 5, 0, "one name").content_sha256;
  CHECK(samples_file(folder.file("a.h5"), 20, 5, 0, "another name").content_sha256 == a);
  CHECK(samples_file(folder.file("a.h5"), 19, 5, 0).content_sha256 != a);
  CHECK(samples_file(folder.file("a.h5"), 20, 5, 1).content_sha256 != a);
}

TEST_CASE("a file's classes are numbered by their names in a network's list", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  const auto write = [&](const std::vector<std::string>& names) {
    DatasetInfo info;
    info.name = "named";
    info.dim = 1;
    info.classes = names.empty() ? 3 : names.size();
    info.class_names = names;
    DatasetWriter writer(path, info);
    writer.begin(Subset::train, 2);
    writer.append(std::span<const float>(std::vector<float>{1, 2}),
                  std::span<const std::int32_t>(std::vector<std::int32_t>{0, 1}));
    writer.finish();
  };
  const auto labels = [&](const std::vector<std::string>& of_network) {
    const auto dataset = Dataset::open(path, {}, of_network);
    return std::vector<std::int32_t>{dataset->label(Subset::train, 0), dataset->label(Subset::train, 1)};
  };
  using Labels = std::vector<std::int32_t>;
  write({"cat", "dog", "eel"});
  CHECK(labels({}) == Labels{0, 1});
  CHECK(labels({"cat", "dog", "eel"}) == Labels{0, 1});
  CHECK(labels({"dog", "eel", "cat"}) == Labels{2, 0});
  CHECK(labels({"ant", "eel", "dog", "cat"}) == Labels{3, 2});
  CHECK(Dataset::open(path, {}, {"ant", "eel", "dog", "cat"})->info().classes == 4);
  CHECK_THROWS_WITH(labels({"cat", "Dog", "eel"}), contains_text("'dog' is none of cat, Dog, eel"));
  CHECK_THROWS_WITH(labels({"cat", "dog", "eel", "cat"}), contains_text("the same name"));
  patch<std::int32_t>(path, "/train/labels", 0, 3);
  CHECK(labels({"dog", "eel", "cat", "ant"}) == Labels{-1, 0});  // still out of range
  write({"cat", "cat", "eel"});
  CHECK_THROWS_WITH(labels({"cat", "dog", "eel"}), contains_text("the same name"));
  CHECK(labels({"cat", "cat", "eel"}) == Labels{0, 1});
  write({});
  CHECK(labels({"cat", "dog", "eel"}) == Labels{0, 1});
}

TEST_CASE("a file made by another tool, compressed and byte-swapped, opens and verifies", "[data]") {
  // Made by make_foreign.py with h5py: chunked gzip float32 big-endian features, big-endian labels, fixed-length text.
  const std::string path = PARAGRAD_SOURCE "/tests/data/foreign.h5";
  const auto dataset = Dataset::open(path);
  CHECK(dataset->info().samples == std::array<std::size_t, 3>{6, 2, 0});
  CHECK(dataset->info().source == "make_foreign.py");
  for (std::size_t r = 0; r < 6; ++r) {
    CHECK(dataset->label(Subset::train, r) == static_cast<int>(r % 3));
    std::vector<float> features(4);
    dataset->decode(dataset->row(Subset::train, r), features);
    for (std::size_t d = 0; d < 4; ++d) CHECK(features[d] == 2 * (static_cast<float>(10 * r + d) / 8) + 1);
  }
  CHECK(verify(path).empty());
}

TEST_CASE("a data file cut anywhere does not open", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  const std::size_t rows = GENERATE(20, 50000);  // small arrays among the metadata, large ones behind it
  samples_file(path, rows);
  const auto whole = read_text(path);
  REQUIRE_NOTHROW(Dataset::open(path));
  for (std::size_t length :
       {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{48}, std::size_t{100}, std::size_t{500},
        whole.size() / 4, whole.size() / 2, whole.size() * 3 / 4, whole.size() - 4096, whole.size() - 8, whole.size() - 1}) {
    if (length >= whole.size()) continue;
    write_text(path, std::string_view(whole).substr(0, length));
    INFO(length << " of " << whole.size() << " bytes");
    CHECK_THROWS_AS(Dataset::open(path), core::ConfigError);
  }
}

namespace {

struct Verdicts {
  std::size_t refused = 0, found = 0, without_effect = 0;
};

/// What opening and verifying say when single bytes of the file are changed.
Verdicts flip_bytes(const std::string& path, std::size_t stride) {
  const auto whole = read_text(path);
  Verdicts verdicts;
  for (std::size_t at = 0; at < whole.size(); at += stride) {
    auto damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x5a);
    write_text(path, damaged);
    try {
      ++(verify(path).empty() ? verdicts.without_effect : verdicts.found);
    } catch (const core::ConfigError&) {
      ++verdicts.refused;
    }
  }
  return verdicts;
}

}  // namespace

TEST_CASE("a data file with a flipped byte is refused, or fails verification, or is as good as before", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  samples_file(path);
  // In a process of its own: HDF5 loses memory where a checksum is wrong, and a leak checker would blame this program.
  const auto child = ::fork();
  if (child == 0) {
    try {
      const auto verdicts = flip_bytes(path, 13);
      ::_exit(verdicts.refused > 100 && verdicts.found > 5 ? 3 : 4);
    } catch (...) {
      ::_exit(5);
    }
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 3);
}

TEST_CASE("files that are no Paragrad data files say so", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  SECTION("missing") { CHECK_THROWS_WITH(Dataset::open(path), contains_text(path) && contains_text("No such file")); }
  SECTION("a folder") { CHECK_THROWS_WITH(Dataset::open(folder.file("")), contains_text("it is a folder")); }
  SECTION("a text") {
    write_text(path, "digit,label\n1,2\n");
    CHECK_THROWS_WITH(Dataset::open(path), contains_text("it is not an HDF5 file"));
  }
  SECTION("HDF5 of another origin") {
    auto file = Hdf5File::create(path);
    file.write("/images", std::span<const float>(std::vector<float>(10, 0.f)));
    file.finish();
    CHECK_THROWS_WITH(Dataset::open(path), contains_text("is not a Paragrad data file"));
  }
  SECTION("of a later version") {
    samples_file(path);
    auto file = Hdf5File::revise(path);
    file.set_count("/", "version", 5);
    file.finish();
    CHECK_THROWS_WITH(Dataset::open(path), contains_text("format version 5") && contains_text("reads versions 1 to 4"));
  }
  SECTION("without an attribute") {
    auto file = Hdf5File::create(path);
    file.set_text("/", "format", "paragrad-data");
    file.set_count("/", "version", 1);
    file.finish();
    CHECK_THROWS_WITH(Dataset::open(path), contains_text("'/name'"));
  }
}

namespace {

/// A file whose arrays are what the caller says, where they may be wrong.
struct Parts {
  std::vector<std::size_t> features{4, 2};
  std::size_t labels = 4;
  std::vector<std::int64_t> offsets{};
  std::size_t valid_dim = 2;
  bool valid_is_uint8 = false;
  bool labels_are_int64 = false;
  std::size_t classes = 2;
};

void write_parts(const std::string& path, const Parts& parts) {
  auto file = Hdf5File::create(path);
  for (const char* name : {"name", "source", "licence", "content_sha256"}) file.set_text("/", name, "x");
  file.set_text("/", "format", "paragrad-data");
  file.set_texts("/", "source_sha256", {});
  file.set_count("/", "version", 1);
  file.set_count("/", "classes", parts.classes);
  file.set_number("/", "feature_scale", 1);
  file.set_number("/", "feature_offset", 0);
  file.create_array("/train/features", ElementType::float32, parts.features);
  file.create_array("/train/labels", parts.labels_are_int64 ? ElementType::int64 : ElementType::int32, {parts.labels});
  if (!parts.offsets.empty()) file.write("/train/offsets", std::span<const std::int64_t>(parts.offsets));
  for (const std::string subset : {"/valid", "/test"}) {
    file.create_array(subset + "/features", parts.valid_is_uint8 ? ElementType::uint8 : ElementType::float32,
                      {0, parts.valid_dim});
    file.create_array(subset + "/labels", ElementType::int32, {0});
  }
  file.finish();
}

}  // namespace

TEST_CASE("counts and types that do not fit are refused at opening", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  const auto opens = [&](const Parts& parts) {
    write_parts(path, parts);
    return Dataset::open(path);
  };
  CHECK_NOTHROW(opens({}));
  CHECK_THROWS_WITH(opens({.labels = 5}), contains_text("the shape 5, not 4, for 4 rows of features"));
  CHECK_THROWS_WITH(opens({.features = {8}}), contains_text("samples x dim"));
  CHECK_THROWS_WITH(opens({.features = {4, 0}}), contains_text("samples x dim"));
  CHECK_THROWS_WITH(opens({.features = {0, 2}, .labels = 0}), contains_text("training set is empty"));
  CHECK_THROWS_WITH(opens({.classes = 0}), contains_text("no classes"));
  CHECK_THROWS_WITH(opens({.valid_dim = 3}), contains_text("/valid/features differs"));
  CHECK_THROWS_WITH(opens({.valid_is_uint8 = true}), contains_text("/valid/features differs"));
  CHECK_THROWS_WITH(opens({.labels_are_int64 = true}),
                    contains_text("'/train/labels' in data file") && contains_text("has type int64, not int32"));
  CHECK_NOTHROW(opens({.offsets = {0, 1, 4}}));
  CHECK_THROWS_WITH(opens({.offsets = {0, 3}}), contains_text("/train/offsets does not increase strictly"));
  CHECK_THROWS_WITH(opens({.offsets = {1, 4}}), contains_text("/train/offsets does not increase strictly"));
  CHECK_THROWS_WITH(opens({.offsets = {0, 2, 2, 4}}), contains_text("/train/offsets does not increase strictly"));
  CHECK_THROWS_WITH(opens({.offsets = {0, -1, 4}}), contains_text("/train/offsets does not increase strictly"));
  CHECK_THROWS_WITH(opens({.offsets = {0, 1, 2, 3, 4, 5}}), contains_text("more sequences"));
}

TEST_CASE("the writer refuses what would break the format", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  DatasetInfo info;
  info.dim = 2;
  info.classes = 3;
  const std::vector<float> rows{1, 2, 3, 4};
  const std::vector<std::int32_t> labels{0, 2};
  const auto append = [&](DatasetWriter& writer, std::vector<float> features, std::vector<std::int32_t> targets) {
    writer.append(std::span<const float>(features), std::span<const std::int32_t>(targets));
  };
  DatasetWriter writer(path, info);
  CHECK_THROWS_AS(append(writer, rows, labels), std::logic_error);
  writer.begin(Subset::train, 3);
  CHECK_THROWS_WITH(append(writer, rows, {0, 3}), "label 3 in row 1 of /train is out of range for 3 classes");
  CHECK_THROWS_WITH(append(writer, rows, {-1, 0}), contains_text("label -1 in row 0"));
  CHECK_THROWS_WITH(append(writer, {1, 2, 3, NAN}, labels), "feature 1 of row 1 of /train is not a finite number");
  CHECK_THROWS_AS(append(writer, {1, 2, 3}, labels), std::logic_error);
  append(writer, rows, labels);
  CHECK_THROWS_AS(append(writer, rows, labels), std::logic_error);  // four rows of three
  CHECK_THROWS_AS(writer.finish(), std::logic_error);               // two rows of three
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("describe names counts, checksum and partitions", "[data]") {
  const TemporaryFolder folder;
  const auto info = samples_file(folder.file("x.h5"));
  const auto json = describe(*Dataset::open(folder.file("x.h5")));
  CHECK(json["content_sha256"] == info.content_sha256);
  CHECK(json["train"]["samples"] == 20);
  CHECK(json["train"]["sequences"] == 10);
  CHECK_FALSE(json["valid"].contains("sequences"));
  CHECK(json["partitions"].empty());
}
