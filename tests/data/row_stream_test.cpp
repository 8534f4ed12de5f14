#include "data/row_stream.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <thread>

#include "catch.hpp"
#include "core/errors.hpp"
#include "core/philox.hpp"
#include "data/generate.hpp"
#include "data/partition.hpp"
#include "decoded.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::data;

namespace {

std::vector<std::uint32_t> rows_of(const Partition& partition, std::size_t block, std::size_t worker) {
  const auto split = partition.split(block, worker);
  return {split.begin(), split.end()};
}

/// Whether the rows of samples_file() come out of the stream as they should.
void take_all(const Dataset& dataset, RowStream& stream, std::size_t at_most, const std::vector<std::uint32_t>& expected,
              bool& good) {
  std::size_t i = 0;
  for (Batch batch = stream.next(at_most); batch.size() > 0; batch = stream.next(at_most)) {
    good = good && batch.size() == std::min(at_most, expected.size() - i) && batch.stored.windows.size() == batch.size();
    good = good && batch.stored.rows_of_split == core::Range{i, i + batch.size()};
    const std::vector<float> features = decoded(dataset, batch);
    for (std::size_t b = 0; b < batch.size() && good; ++b, ++i) {
      good = batch.labels[b] == static_cast<std::int32_t>(expected[i] % 4) && batch.rows[b] == expected[i];
      for (std::size_t d = 0; d < 3; ++d)
        good = good && features[3 * b + d] == 0.5f * static_cast<float>(feature(expected[i], d)) - 1;
    }
    good = good && stream.remaining() == expected.size() - i;
  }
  good = good && i == expected.size();
}

/// Removes what is in the file from the page cache, if it is on a disk.
void remove_from_memory(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY);
  REQUIRE(::fsync(file) == 0);
  REQUIRE(::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0);
  ::close(file);
}

}  // namespace

TEST_CASE("a stream of rows hands out each row of its splits once, in order, while prefetching", "[data]") {
  const TemporaryFolder folder;
  samples_file(folder.file("x.h5"), 1000);
  const auto dataset = Dataset::open(folder.file("x.h5"));
  const std::size_t minibatch = GENERATE(1, 7, 64, 5000);
  const std::size_t blocks = 5;
  const auto partition = Partition::random(1000, 3, blocks, 1);
  Prefetcher prefetcher(GENERATE(Reading::ahead, Reading::on_demand));
  RowStream stream(dataset, Subset::train, prefetcher);
  CHECK(stream.remaining() == 0);
  CHECK(stream.next(3).size() == 0);
  bool good = true;
  stream.prefetch(list(rows_of(partition, 0, 1)));
  for (std::size_t j = 0; j < blocks; ++j) {
    stream.advance();
    if (j + 1 < blocks) stream.prefetch(list(rows_of(partition, j + 1, 1)));
    take_all(*dataset, stream, minibatch, rows_of(partition, j, 1), good);
    CHECK(good);
  }
  CHECK(stream.next(minibatch).size() == 0);
}

TEST_CASE("rows that are on the disk alone are read as they are stored, in any order and at any distance", "[data]") {
  const TemporaryFolder folder(std::filesystem::current_path());  // which is more likely on a disk than the temporary folder
  const auto path = folder.file("x.h5");
  generate({.out = path, .samples = 1500, .valid = 1, .test = 1, .dim = 700, .classes = 6, .sequence_length = 40});
  const Context context = GENERATE(Context{0, 0}, Context{2, 3});
  std::vector<std::uint32_t> rows(1500);
  std::iota(rows.begin(), rows.end(), 0u);
  SECTION("all") {}
  SECTION("all, shuffled") { rows = core::RandomStream(1, core::Purpose::generator).permutation(1500); }
  SECTION("few, backwards") {
    std::erase_if(rows, [](std::uint32_t row) { return row % 97 != 5; });
    std::reverse(rows.begin(), rows.end());
  }
  SECTION("one") { rows = {1499}; }
  const auto read = [&] {
    const auto dataset = Dataset::open(path, context);
    const bool from_memory = dataset->in_memory(Subset::train, rows.back());
    Split split;
    split.read(*dataset, Subset::train, rows);
    CHECK(dataset->in_memory(Subset::train, rows.back()) >= from_memory);
    return split;
  };
  const Split expected = read();  // of a file that was just written
  remove_from_memory(path);
  const Split found = read();
  CHECK((found.stored == expected.stored));  // not to be printed
  CHECK((found.windows == expected.windows));
  CHECK((found.labels == expected.labels));
}

TEST_CASE("on demand, whoever waits for a task runs it; ahead, another thread does", "[data]") {
  std::thread::id ran_on;
  const auto task = [&] { ran_on = std::this_thread::get_id(); };
  Prefetcher ahead, on_demand(Reading::on_demand);
  ahead.submit(task).wait();
  CHECK(ran_on != std::this_thread::get_id());
  ran_on = {};
  auto done = on_demand.submit(task);
  CHECK(ran_on == std::thread::id{});
  done.wait();
  CHECK(ran_on == std::this_thread::get_id());
}

TEST_CASE("a stream of rows adds up what it waited for, split by split", "[data]") {
  const TemporaryFolder folder;
  samples_file(folder.file("x.h5"));
  const auto dataset = Dataset::open(folder.file("x.h5"));
  Prefetcher prefetcher;
  std::chrono::milliseconds delay{20};
  RowStream stream(dataset, Subset::train, prefetcher, [&](const Split&) { std::this_thread::sleep_for(delay); });
  stream.prefetch(list({1, 2}));
  stream.advance();
  const double first_s = stream.waited_s();
  CHECK(first_s > 0);
  delay = {};
  stream.prefetch(list({3}));
  stream.advance();
  CHECK(stream.waited_s() >= first_s);
}

TEST_CASE("many streams share one data set and one prefetcher, each in its own thread", "[data]") {
  const TemporaryFolder folder;
  samples_file(folder.file("x.h5"), 2000);
  const auto dataset = Dataset::open(folder.file("x.h5"));
  const std::size_t workers = 8, blocks = 6;
  const auto partition = Partition::random(2000, workers, blocks, 1);
  Prefetcher prefetcher;
  std::array<bool, 8> good;
  good.fill(true);
  std::vector<std::thread> threads;
  for (std::size_t k = 0; k < workers; ++k)
    threads.emplace_back([&, k] {
      RowStream stream(dataset, Subset::train, prefetcher);
      stream.prefetch(list(rows_of(partition, 0, k)));
      for (std::size_t j = 0; j < blocks; ++j) {
        stream.advance();
        if (j + 1 < blocks) stream.prefetch(list(rows_of(partition, j + 1, k)));
        take_all(*dataset, stream, 16, rows_of(partition, j, k), good[k]);
      }
    });
  for (auto& thread : threads) thread.join();
  for (const bool g : good) CHECK(g);
}

TEST_CASE("a stream of rows drops what is left of a split when it advances, and may be left at any time", "[data]") {
  const TemporaryFolder folder;
  samples_file(folder.file("x.h5"));
  const auto dataset = Dataset::open(folder.file("x.h5"));
  Prefetcher prefetcher;
  RowStream stream(dataset, Subset::valid, prefetcher);
  stream.prefetch(list({0, 1, 2, 3}));
  stream.advance();
  CHECK(stream.next(1).labels[0] == 0);
  stream.prefetch(list({4}));
  stream.advance();
  CHECK(stream.remaining() == 1);
  CHECK(decoded(*dataset, stream.next(9))[0] == 0.5f * 12 - 1);
  stream.prefetch(list({}));
  stream.advance();
  CHECK(stream.next(9).size() == 0);
  stream.prefetch(list({0, 1}));  // never taken
}

TEST_CASE("what goes wrong in the background reaches advance, and the stream can go on", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  samples_file(path);
  patch(path, "/train/labels", 2, std::int32_t{4});
  const auto dataset = Dataset::open(path);
  Prefetcher prefetcher;
  RowStream stream(dataset, Subset::train, prefetcher);
  stream.prefetch(list({0, 20}));
  CHECK_THROWS_AS(stream.advance(), std::logic_error);
  CHECK(stream.remaining() == 0);
  stream.prefetch(list({0, 1, 2}));
  CHECK_THROWS_WITH(stream.advance(), contains_text("label 4 in row 2 of train is out of range for 4 classes"));
  stream.prefetch(list({0, 1}));
  stream.advance();
  CHECK(stream.next(5).size() == 2);
}

TEST_CASE("a stream of rows tells of each split before it is the current one, and of what went wrong there when it would be",
          "[data]") {
  const TemporaryFolder folder;
  samples_file(folder.file("x.h5"));
  const auto dataset = Dataset::open(folder.file("x.h5"));
  Prefetcher prefetcher;
  std::vector<std::vector<std::uint32_t>> told;
  RowStream stream(dataset, Subset::train, prefetcher, [&](const Split& split) {
    told.push_back(split.rows);
    if (split.rows.empty()) throw std::runtime_error("no room");
  });
  stream.prefetch(list({3, 1}));
  stream.advance();
  CHECK(told == std::vector<std::vector<std::uint32_t>>{{3, 1}});
  stream.prefetch(list({}));
  CHECK_THROWS_WITH(stream.advance(), "no room");
  stream.prefetch(list({2}));
  stream.advance();
  CHECK(told.back() == std::vector<std::uint32_t>{2});
  CHECK(stream.next(2).stored.split->rows == told.back());
}

TEST_CASE("a stream of rows refuses calls in the wrong order", "[data]") {
  const TemporaryFolder folder;
  samples_file(folder.file("x.h5"));
  const auto dataset = Dataset::open(folder.file("x.h5"));
  Prefetcher prefetcher;
  RowStream stream(dataset, Subset::train, prefetcher);
  CHECK_THROWS_AS(stream.advance(), std::logic_error);
  stream.prefetch(list({0}));
  CHECK_THROWS_AS(stream.prefetch(list({1})), std::logic_error);
  stream.advance();
  CHECK_THROWS_AS(stream.advance(), std::logic_error);
  CHECK_THROWS_AS(stream.next(0), std::logic_error);
}

TEST_CASE("a prefetcher runs tasks in order and finishes them before it ends", "[data]") {
  std::vector<int> order;
  {
    Prefetcher prefetcher;
    for (int i = 0; i < 100; ++i) prefetcher.submit([&order, i] { order.push_back(i); });
    CHECK_THROWS_AS(prefetcher.submit([] { throw std::runtime_error("x"); }).get(), std::runtime_error);
    prefetcher.submit([&order] { order.push_back(100); });
  }
  std::vector<int> expected(101);
  std::iota(expected.begin(), expected.end(), 0);
  CHECK(order == expected);
}
