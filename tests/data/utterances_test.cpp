#include <algorithm>
#include <numeric>
#include <set>

#include "catch.hpp"
#include "core/errors.hpp"
#include "core/philox.hpp"
#include "data/partition.hpp"
#include "data/verify.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::data;

namespace {

/// Offsets of utterances of 1 … 40 frames.
std::vector<std::int64_t> make_offsets(std::size_t utterances, std::uint64_t seed) {
  const core::RandomStream draw(seed, core::Purpose::generator);
  std::vector<std::int64_t> offsets{0};
  for (std::size_t u = 0; u < utterances; ++u)
    offsets.push_back(offsets.back() + 1 + static_cast<std::int64_t>(draw.below(40, u)));
  return offsets;
}

}  // namespace

TEST_CASE("a partition of utterances holds each once, whole and in order, in splits of nearly equal size", "[data]") {
  const std::size_t utterances = GENERATE(24u, 25u, 400u), workers = GENERATE(1u, 3u, 8u), blocks = GENERATE(1u, 2u, 3u);
  const auto offsets = make_offsets(utterances, utterances);
  const auto partition = Partition::of_utterances(offsets, workers, blocks, 7);
  const auto samples = static_cast<double>(offsets.back());
  CHECK(partition.samples() == static_cast<std::size_t>(offsets.back()));
  CHECK(partition.has_whole_utterances());
  std::set<std::uint32_t> seen;
  for (std::size_t j = 0; j < blocks; ++j)
    for (std::size_t k = 0; k < workers; ++k) {
      const auto split = partition.split(j, k);
      CHECK_FALSE(split.empty());
      if (utterances == 400)
        CHECK(std::abs(static_cast<double>(split.size()) - samples / static_cast<double>(workers * blocks)) <= 40);
      for (std::size_t at = 0; at < split.size();) {
        const auto found = std::lower_bound(offsets.begin(), offsets.end() - 1, std::int64_t{split[at]});
        REQUIRE(*found == split[at]);
        for (std::int64_t row = found[0]; row < found[1]; ++row, ++at) REQUIRE((at < split.size() && split[at] == row));
      }
      seen.insert(split.begin(), split.end());
    }
  CHECK(seen.size() == partition.samples());
  const auto sizes = partition.without_rows();
  CHECK_FALSE(sizes.has_rows());
  CHECK(sizes.split_range(blocks - 1, workers - 1) == partition.split_range(blocks - 1, workers - 1));
}

TEST_CASE("the order of the utterances depends on the seed, not on workers and blocks", "[data]") {
  const auto offsets = make_offsets(60, 1);
  const auto order = [&](std::size_t workers, std::size_t blocks, std::uint64_t seed) {
    const auto partition = Partition::of_utterances(offsets, workers, blocks, seed);
    const auto rows = partition.rows({0, partition.samples()});
    return std::vector<std::uint32_t>(rows.begin(), rows.end());
  };
  CHECK(order(8, 3, 5) == order(1, 1, 5));
  CHECK(order(8, 3, 6) != order(8, 3, 5));
  CHECK_FALSE(std::is_sorted(order(1, 1, 5).begin(), order(1, 1, 5).end()));
}

TEST_CASE("a cut that lies half-way between two ends of utterances goes to the earlier", "[data]") {
  const std::vector<std::int64_t> offsets{0, 2, 4, 6};  // two splits: wanted at 3
  const auto partition = Partition::of_utterances(offsets, 2, 1, 1);
  CHECK(partition.split(0, 0).size() == 2);
  CHECK(partition.split(0, 1).size() == 4);
}

TEST_CASE("pieces are shuffled by other random numbers than utterances", "[data]") {
  std::vector<std::int64_t> offsets(41);
  std::iota(offsets.begin(), offsets.end(), 0);  // utterances of one frame
  std::vector<std::uint32_t> begins(40);
  std::iota(begins.begin(), begins.end(), 0u);
  const auto utterances = Partition::of_utterances(offsets, 1, 1, 3);
  const auto pieces = utterances.of_pieces(begins);
  const auto order = utterances.split(0, 0), shuffled = pieces.split(0, 0);
  std::vector<std::uint32_t> by_the_same;
  for (const std::uint32_t i : order) by_the_same.push_back(order[i]);
  CHECK_FALSE(std::ranges::equal(shuffled, by_the_same));
}

TEST_CASE("as many splits as utterances get one each, and more are refused", "[data]") {
  const std::vector<std::int64_t> offsets{0, 1, 2, 3, 1000, 1001};
  const auto partition = Partition::of_utterances(offsets, 5, 1, 1);
  for (std::size_t k = 0; k < 5; ++k) CHECK((partition.split(0, k).size() == 1 || partition.split(0, k).size() == 997));
  CHECK_THROWS_WITH(Partition::of_utterances(offsets, 3, 2, 1), contains_text("the training set has 5"));
  CHECK_THROWS_WITH(Partition::of_utterances(offsets, 0, 2, 1), contains_text("at least one split"));
  CHECK_THROWS_WITH(Partition::of_utterances({}, 1, 1, 1), contains_text("has no utterances"));
}

TEST_CASE("a stored partition of utterances is found again, and refused where it cuts one", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  samples_file(path, 21);  // ten sequences of two rows and one of one
  const auto made = Partition::of_utterances(std::vector<std::int64_t>{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 21}, 2, 2, 3);
  made.store(path);
  const auto found = Partition::find(*Dataset::open(path), 2, 2, 3);
  REQUIRE(found.has_value());
  CHECK(found->has_whole_utterances());
  CHECK(std::equal(found->rows({0, 21}).begin(), found->rows({0, 21}).end(), made.rows({0, 21}).begin()));
  for (std::size_t j = 0; j < 2; ++j) CHECK(found->block_range(j) == made.block_range(j));
  CHECK(verify(path).empty());

  const std::string group = "/partitions/2x2-s3";
  const auto starts = Hdf5File::open(path).read<std::uint64_t>(group + "/starts");
  SECTION("a split that begins within an utterance") { patch(path, group + "/starts", 1, starts[1] + 1); }
  SECTION("an end that is none") { patch(path, group + "/starts", 4, std::uint64_t{20}); }
  SECTION("starts that fall") { patch(path, group + "/starts", 1, starts[3] + 2); }
  SECTION("an utterance torn apart") {
    const auto index = Hdf5File::open(path).read<std::uint32_t>(group + "/index");
    patch(path, group + "/index", 0, index[20]);
    patch(path, group + "/index", 20, index[0]);
  }
  CHECK_THROWS_WITH(Partition::find(*Dataset::open(path), 2, 2, 3),
                    contains_text("does not keep each utterance in one split"));
  REQUIRE(verify(path).size() == 1);
}

TEST_CASE("a duration of splits gives the number of blocks that comes nearest", "[data]") {
  DatasetInfo info;
  info.path = "x.h5";
  info.samples[0] = 360000;  // an hour
  info.frame_shift_s = 0.01;
  CHECK(blocks_of_duration(info, 1, 1350) == 3);
  CHECK(blocks_of_duration(info, 4, 225) == 4);
  CHECK(blocks_of_duration(info, 64, 1350) == 1);
  CHECK_THROWS_WITH(blocks_of_duration(info, 1, 0), contains_text("a duration above zero"));
  info.frame_shift_s = 0;
  CHECK_THROWS_WITH(blocks_of_duration(info, 1, 1350), contains_text("frame_shift_s"));
}

TEST_CASE("splits of utterances by their pieces hold the pieces of the same utterances, each once, in a random order",
          "[data]") {
  const std::size_t workers = GENERATE(1u, 4u), blocks = GENERATE(1u, 3u);
  const auto offsets = make_offsets(100, 9);
  const auto utterances = Partition::of_utterances(offsets, workers, blocks, 3);
  std::vector<std::uint32_t> begins;
  for (std::size_t u = 0; u + 1 < offsets.size(); ++u)
    for (std::int64_t row = offsets[u]; row < offsets[u + 1]; row += 7) begins.push_back(static_cast<std::uint32_t>(row));
  const auto pieces = utterances.of_pieces(begins);
  CHECK(pieces.samples() == begins.size());
  std::size_t in_order = 0;
  for (std::size_t j = 0; j < blocks; ++j)
    for (std::size_t k = 0; k < workers; ++k) {
      const auto rows = utterances.split(j, k);
      std::set<std::uint32_t> expected, found;
      for (std::uint32_t p = 0; p < begins.size(); ++p)
        if (std::ranges::find(rows, begins[p]) != rows.end()) expected.insert(p);
      const auto split = pieces.split(j, k);
      found.insert(split.begin(), split.end());
      CHECK(found == expected);
      CHECK(split.size() == expected.size());
      in_order += std::ranges::is_sorted(split);
    }
  CHECK(in_order == 0);
  const auto other = Partition::of_utterances(offsets, workers, blocks, 4).of_pieces(begins);
  CHECK_FALSE(std::ranges::equal(other.rows({0, begins.size()}), pieces.rows({0, begins.size()})));
  CHECK_THROWS_AS(Partition::random(700, 2, 1, 1).of_pieces(begins), std::logic_error);
}
