#include "data/partition.hpp"

#include <algorithm>
#include <set>

#include "catch.hpp"
#include "core/errors.hpp"
#include "core/json.hpp"
#include "data/describe.hpp"
#include "data/verify.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::data;

TEST_CASE("a random partition holds each sample once, in splits of nearly equal size", "[data]") {
  const std::size_t samples = GENERATE(24, 25, 1000), workers = GENERATE(1, 3, 8), blocks = GENERATE(1, 2, 3);
  const auto partition = Partition::random(samples, workers, blocks, 7);
  std::set<std::uint32_t> seen;
  for (std::size_t j = 0; j < blocks; ++j) {
    std::vector<std::uint32_t> block;
    for (std::size_t k = 0; k < workers; ++k) {
      const auto split = partition.split(j, k);
      CHECK(split.size() >= samples / (workers * blocks));
      CHECK(split.size() <= samples / (workers * blocks) + 1);
      block.insert(block.end(), split.begin(), split.end());
    }
    const auto whole = partition.block(j);
    CHECK(std::equal(whole.begin(), whole.end(), block.begin(), block.end()));
    seen.insert(block.begin(), block.end());
  }
  CHECK(seen.size() == samples);
  CHECK(*seen.rbegin() == samples - 1);
  CHECK_THROWS_AS(partition.split(blocks, 0), std::logic_error);
  CHECK_THROWS_AS(partition.split(0, workers), std::logic_error);
  CHECK_THROWS_AS(partition.block(blocks), std::logic_error);
}

TEST_CASE("the order of the samples depends on the seed, not on workers and blocks", "[data]") {
  const auto order = [](const Partition& p) {
    std::vector<std::uint32_t> all;
    for (std::size_t j = 0; j < p.blocks(); ++j) all.insert(all.end(), p.block(j).begin(), p.block(j).end());
    return all;
  };
  const auto reference = order(Partition::random(100, 1, 1, 5));
  CHECK(order(Partition::random(100, 8, 3, 5)) == reference);
  CHECK(order(Partition::random(100, 3, 8, 5)) == reference);
  CHECK(order(Partition::random(100, 1, 1, 6)) != reference);
  CHECK_FALSE(std::is_sorted(reference.begin(), reference.end()));
}

TEST_CASE("a partition with no splits, or with more splits than samples, is refused", "[data]") {
  CHECK_NOTHROW(Partition::random(12, 4, 3, 1));
  CHECK_THROWS_WITH(Partition::random(11, 4, 3, 1), contains_text("4x3 has more splits than the 11 samples"));
  CHECK_THROWS_WITH(Partition::random(11, ~std::size_t{0}, 2, 1), contains_text("more splits"));
  CHECK_THROWS_WITH(Partition::random(11, 0, 3, 1), contains_text("at least 1"));
  CHECK_THROWS_WITH(Partition::random(11, 3, 0, 1), contains_text("at least 1"));
  CHECK_THROWS_AS(Partition::random(0, 1, 1, 1), core::ConfigError);
}

TEST_CASE("stored partitions are found again, each under its own name", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  const auto info = samples_file(path);
  const auto old_map = Dataset::open(path);
  for (const auto& [workers, blocks, seed] : {std::tuple(4, 2, 3ull), {2, 5, 3ull}, {4, 2, ~0ull}})
    Partition::random(20, workers, blocks, seed).store(path);

  const auto dataset = Dataset::open(path);
  CHECK(dataset->info().content_sha256 == info.content_sha256);
  const auto expected = Partition::random(20, 4, 2, ~0ull);
  const auto found = Partition::find(*dataset, 4, 2, ~0ull);
  REQUIRE(found.has_value());
  CHECK(found->workers() == 4);
  CHECK(found->blocks() == 2);
  CHECK(found->seed() == ~0ull);
  CHECK(found->samples() == 20);
  for (std::size_t j = 0; j < 2; ++j)
    for (std::size_t k = 0; k < 4; ++k) {
      const auto a = expected.split(j, k), b = found->split(j, k);
      CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
    }
  CHECK_FALSE(Partition::find(*dataset, 2, 4, 3).has_value());
  CHECK_FALSE(Partition::find(*dataset, 0, 0, 0).has_value());

  const auto names = stored_partitions(*dataset);
  REQUIRE(names.size() == 3);
  CHECK(names[0].group == "2x5-s3");
  CHECK(names[1].group == "4x2-s3");
  CHECK(names[2].seed == ~0ull);
  const core::Json described = describe(*dataset)["partitions"];
  CHECK(described.size() == 3);
  CHECK(described[0] == core::Json{{"name", "2x5-s3"},
                                   {"kind", "random"},
                                   {"samples", {10, 10}},
                                   {"label_distance", described[0]["label_distance"]}});
  CHECK(described[2]["name"] == "4x2-s18446744073709551615");
  CHECK(verify(path).empty());
  CHECK(old_map->label(Subset::train, 19) == 3);  // a data set opened before is not disturbed
  CHECK(folder.entries() == 1);
}

TEST_CASE("a partition that does not go into the file leaves the file as it was", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  samples_file(path);
  Partition::random(20, 4, 2, 3).store(path);
  const auto before = read_text(path);
  CHECK_THROWS_WITH(Partition::random(20, 4, 2, 3).store(path), contains_text("already has a partition 4x2-s3"));
  CHECK_THROWS_WITH(Partition::random(21, 4, 2, 4).store(path), contains_text("does not fit the 20 training samples"));
  CHECK_THROWS_AS(Partition::random(20, 4, 2, 3).store(folder.file("none.h5")), core::ConfigError);
  const bool same = read_text(path) == before;
  CHECK(same);
  CHECK(folder.entries() == 1);
}

TEST_CASE("a partition of another data set, or a damaged one, is refused by find and by verify", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  samples_file(path);
  Partition::random(20, 4, 2, 3).store(path);
  const std::string group = "/partitions/4x2-s3";
  std::string finding;
  SECTION("of another data set") {
    auto file = Hdf5File::revise(path);
    file.set_text(group, "dataset_sha256", std::string(64, '0'));
    file.finish();
    finding = "belongs to another data set";
  }
  SECTION("a sample twice") {
    patch(path, group + "/index", 5, Hdf5File::open(path).read<std::uint32_t>(group + "/index")[6]);
    finding = "does not contain each sample exactly once";
  }
  SECTION("a sample that is none") {
    patch(path, group + "/index", 5, std::uint32_t{20});
    finding = "does not contain each sample exactly once";
  }
  SECTION("uneven splits") {
    patch(path, group + "/starts", 1, std::uint64_t{0});
    finding = "sizes differ by more than one";
  }
  SECTION("splits of 2, 4, 2, 2 samples instead of 2, 3, 2, 3") {
    patch(path, group + "/starts", 2, std::uint64_t{6});
    patch(path, group + "/starts", 3, std::uint64_t{8});
    finding = "sizes differ by more than one";
  }
  SECTION("falling splits") {
    patch(path, group + "/starts", 1, ~std::uint64_t{0});
    finding = "sizes differ by more than one";
  }
  SECTION("another number of workers than its name says") {
    auto file = Hdf5File::revise(path);
    file.set_count(group, "workers", 2);
    file.finish();
    finding = "contradicts its own description";
  }
  CHECK_THROWS_WITH(Partition::find(*Dataset::open(path), 4, 2, 3), contains_text(finding));
  const auto findings = verify(path);
  REQUIRE(findings.size() == 1);
  CHECK_THAT(findings[0], contains_text(finding) && contains_text("4x2-s3"));
}

TEST_CASE("a strange name among the partitions is listed and found by verify", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  samples_file(path);
  const std::string name = GENERATE("notes", "4x2", "04x2-s3", "4x2-s3 ", "x-s");
  auto file = Hdf5File::revise(path);
  file.create_group("/partitions/" + name);
  file.finish();
  CHECK(stored_partitions(*Dataset::open(path)).at(0).group == name);
  CHECK(stored_partitions(*Dataset::open(path)).at(0).workers == 0);
  REQUIRE(verify(path).size() == 1);
  CHECK_THAT(verify(path)[0], contains_text("not a valid partition name"));
}

TEST_CASE("a partition of sizes has the splits of the real one, and no rows", "[data]") {
  const std::size_t samples = GENERATE(60u, 101u, 997u), workers = GENERATE(1u, 3u, 7u), blocks = GENERATE(1u, 4u, 8u);
  const auto real = Partition::random(samples, workers, blocks, 1), sizes = Partition::of_sizes(samples, workers, blocks, 1);
  CHECK(sizes.samples() == real.samples());
  CHECK_FALSE(sizes.has_rows());
  for (std::size_t block = 0; block < blocks; ++block) {
    CHECK(sizes.block_range(block) == real.block_range(block));
    for (std::size_t worker = 0; worker < workers; ++worker)
      CHECK(sizes.split_range(block, worker) == real.split_range(block, worker));
  }
  CHECK_THROWS_AS(sizes.block(0), std::logic_error);
  CHECK_THROWS_AS(sizes.split_range(blocks, 0), std::logic_error);
  CHECK_THROWS_AS(Partition::of_sizes(10, 4, 3, 1), core::ConfigError);
}
