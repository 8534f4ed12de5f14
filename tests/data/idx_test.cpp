#include "data/idx.hpp"

#include <algorithm>
#include <map>

#include "catch.hpp"
#include "checksummed.hpp"
#include "core/errors.hpp"
#include "core/sha256.hpp"
#include "data/idx_file.hpp"
#include "data/verify.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::data;

namespace {

std::string idx(const std::vector<std::uint32_t>& shape, const std::string& elements, char type = 8) {
  std::string bytes{0, 0, type, static_cast<char>(shape.size())};
  for (const auto size : shape) bytes += number_of_bytes(size, 4, true);
  return bytes + elements;
}

const std::string train_images = idx({6, 2, 2}, "abcdefghijklmnopqrstuvwx");
const std::string train_labels = idx({6}, std::string("\0\1\2\0\1\2", 6));
const std::string test_images = idx({2, 2, 2}, "ABCDEFGH");
const std::string test_labels = idx({2}, "\2\1");

/// The four files, some of them replaced.
ImportIdxOptions tiny(const TemporaryFolder& folder, const std::map<std::string, std::string>& other = {}) {
  std::map<std::string, std::string> files{{"train-images-idx3-ubyte", train_images},
                                           {"train-labels-idx1-ubyte", train_labels},
                                           {"t10k-images-idx3-ubyte", test_images},
                                           {"t10k-labels-idx1-ubyte", test_labels}};
  for (const auto& [name, bytes] : other) files[name] = bytes;
  for (const auto& [name, bytes] : files) write_text(folder.file(name), bytes);
  ImportIdxOptions options;
  options.folder = folder.file("");
  options.out = folder.file("x.h5");
  options.name = "tiny";
  options.valid = 2;
  return options;
}

std::string text_of(const Dataset& dataset, Subset subset) {
  std::string text;
  for (std::size_t r = 0; r < dataset.info().samples[static_cast<std::size_t>(subset)]; ++r) {
    for (const auto byte : dataset.row(subset, r)) text += static_cast<char>(byte);
    text += static_cast<char>('0' + dataset.label(subset, r));
  }
  return text;
}

void check_refused(const std::map<std::string, std::string>& other, const std::string& why) {
  const TemporaryFolder folder;
  const auto options = tiny(folder, other);
  CHECK_THROWS_WITH(import_idx(options), contains_text(why));
  CHECK_FALSE(std::filesystem::exists(options.out));
}

}  // namespace

TEST_CASE("IDX files become a data file with each image once beside its label", "[data]") {
  const TemporaryFolder folder;
  auto options = tiny(folder);
  import_idx(options);
  const auto dataset = Dataset::open(options.out);
  const auto& info = dataset->info();
  CHECK(info.name == "tiny");
  CHECK(info.samples == std::array<std::size_t, 3>{4, 2, 2});
  CHECK(info.dim == 4);
  CHECK(info.classes == 3);
  CHECK(info.encoding.scale == 1.f / 255);
  CHECK(info.source_sha256.at(0) == "train-images-idx3-ubyte: " + core::sha256(std::as_bytes(std::span(train_images))));
  CHECK(text_of(*dataset, Subset::test) == "ABCD2EFGH1");
  std::vector<std::string> rows;
  for (const auto subset : {Subset::train, Subset::valid}) {
    const auto text = text_of(*dataset, subset);
    std::vector<std::string> part;
    for (std::size_t i = 0; i < text.size(); i += 5) part.push_back(text.substr(i, 5));
    CHECK(std::is_sorted(part.begin(), part.end()));  // in the order of the files
    rows.insert(rows.end(), part.begin(), part.end());
  }
  std::sort(rows.begin(), rows.end());
  CHECK(rows == std::vector<std::string>{"abcd0", "efgh1", "ijkl2", "mnop0", "qrst1", "uvwx2"});
  CHECK(verify(options.out).empty());
}

TEST_CASE("gzip or plain, by folder or by name, the import is the same", "[data]") {
  const TemporaryFolder plain, packed, anywhere;
  const auto expected = import_idx(tiny(plain));
  for (const auto& [name, bytes] : {std::pair("train-images.idx3-ubyte", train_images),
                                    {"train-labels-idx1-ubyte", train_labels},
                                    {"t10k-images-idx3-ubyte", test_images},
                                    {"t10k-labels.idx1-ubyte", test_labels}})
    write_text(packed.file(std::string(name) + ".gz"), gzip(bytes));
  ImportIdxOptions options;
  options.folder = packed.file("");
  options.out = packed.file("x.h5");
  options.valid = 2;
  const auto by_folder = import_idx(options);
  CHECK(by_folder.content_sha256 == expected.content_sha256);
  CHECK(by_folder.source_sha256[1] == expected.source_sha256[1]);

  options.folder.clear();
  options.train_images = packed.file("train-images.idx3-ubyte.gz");
  options.train_labels = plain.file("train-labels-idx1-ubyte");
  options.test_images = plain.file("t10k-images-idx3-ubyte");
  options.test_labels = packed.file("t10k-labels.idx1-ubyte.gz");
  CHECK(import_idx(options).content_sha256 == expected.content_sha256);
}

TEST_CASE("the validation set depends on the seed and may be empty", "[data]") {
  const TemporaryFolder folder;
  auto options = tiny(folder);
  const auto first = import_idx(options).content_sha256;
  CHECK(import_idx(options).content_sha256 == first);
  options.seed = 2;
  CHECK(import_idx(options).content_sha256 != first);
  options.valid = 0;
  CHECK(import_idx(options).samples == std::array<std::size_t, 3>{6, 0, 2});
  options.valid = 6;
  CHECK_THROWS_WITH(import_idx(options), contains_text("uses up all 6 training samples"));
}

TEST_CASE("files that are not the IDX files they should be are refused", "[data]") {
  const std::string images = "train-images-idx3-ubyte", labels = "train-labels-idx1-ubyte";
  check_refused({{images, "P5 28 28"}}, "does not begin with two zero bytes");
  check_refused({{images, ""}}, "does not begin with two zero bytes");
  check_refused({{images, idx({6, 2, 2}, std::string(96, 'x'), 0x0d)}}, "element type is 0x0d");
  check_refused({{images, train_images.substr(0, 10)}}, "ends within its header");
  check_refused({{images, train_images.substr(0, 39)}}, "truncated: it has 23 of 24 bytes");
  check_refused({{images, train_images + "y"}}, "extra bytes follow its last element");
  check_refused({{images, idx({0xffffffff, 0xffffffff, 0xffffffff}, "x")}}, "impossible");
  check_refused({{images, idx({0xffffffff, 0x7fff, 1}, "x")}}, "truncated");
  check_refused({{images, idx({}, "x")}}, "no dimensions");
  check_refused({{images, train_labels}}, "does not contain images: its shape is 6");
  check_refused({{images, idx({6, 0}, "")}}, "does not contain images");
  check_refused({{labels, train_images}}, "does not contain labels: its shape is 6x2x2");
  check_refused({{labels, idx({5}, "\1\1\1\1\1")}}, "has 6 images but");
  check_refused({{"t10k-images-idx3-ubyte", idx({2, 4, 1}, "ABCDEFGH")}}, "differ in size: 6x2x2 and 2x4x1");
  check_refused({{"t10k-labels-idx1-ubyte", idx({2}, "\2\3")}}, "label 3, but there are only 3 classes");
  const auto packed = gzip(train_images);
  check_refused({{images, packed.substr(0, packed.size() - 9)}}, "truncated");
  check_refused({{images, packed.substr(0, packed.size() - 3)}}, "truncated");
  auto damaged = packed;
  damaged[30] = static_cast<char>(damaged[30] ^ 1);
  check_refused({{images, damaged}}, "cannot read");
}

TEST_CASE("missing IDX files and labels outside the classes asked for are refused", "[data]") {
  const TemporaryFolder folder;
  auto options = tiny(folder);
  options.classes = 2;
  CHECK_THROWS_WITH(import_idx(options), contains_text("label 2, but there are only 2 classes"));
  options.classes = 11;
  CHECK(import_idx(options).classes == 11);
  std::filesystem::remove(folder.file("t10k-images-idx3-ubyte"));
  CHECK_THROWS_WITH(import_idx(options), contains_text("contains no t10k-images-idx3-ubyte"));
  options.folder.clear();
  CHECK_THROWS_WITH(import_idx(options), contains_text("no file is given for `train-images`") && contains_text("`from`"));
}

TEST_CASE("a file that is named replaces the one in the folder", "[data]") {
  const TemporaryFolder folder, other;
  auto options = tiny(folder);
  options.test_images = other.file("images");
  options.test_labels = other.file("labels");
  write_text(options.test_images, idx({1, 2, 2}, "zzzz"));
  write_text(options.test_labels, idx({1}, "\2"));
  import_idx(options);
  CHECK(text_of(*Dataset::open(options.out), Subset::test) == "zzzz2");
}

TEST_CASE("an import does not replace a file that it reads, or any other that is no data file", "[data]") {
  const TemporaryFolder folder;
  auto options = tiny(folder);
  const std::string source = folder.file("train-images-idx3-ubyte");
  options.out = source;
  CHECK_THROWS_WITH(import_idx(options), contains_text("is not a data file"));
  CHECK(read_text(source) == train_images);
  options.out = folder.file("x.h5");
  for (int time = 0; time < 2; ++time) CHECK_NOTHROW(import_idx(options));
}

namespace {

/// Label counts of train and valid together, and the mean of their pixels as the network sees them.
std::pair<std::vector<int>, double> statistics(const Dataset& dataset) {
  std::vector<int> counts(dataset.info().classes, 0);
  std::uint64_t sum = 0, pixels = 0;
  for (const auto subset : {Subset::train, Subset::valid})
    for (std::size_t r = 0; r < dataset.info().samples[static_cast<std::size_t>(subset)]; ++r) {
      ++counts[static_cast<std::size_t>(dataset.label(subset, r))];
      const auto row = dataset.row(subset, r);
      for (const auto pixel : row) sum += std::to_integer<std::uint64_t>(pixel);
      pixels += row.size();
    }
  return {counts, static_cast<double>(sum) / static_cast<double>(pixels) / 255};
}

}  // namespace

TEST_CASE("MNIST imports as the MNIST that is known", "[data]") {
  const char* shared = std::getenv("PARAGRAD_SHARED_DATA");
  ImportIdxOptions options;
  options.folder = shared == nullptr ? "" : std::string(shared) + "/mnist";
  if (!std::filesystem::is_directory(options.folder)) {
    WARN("skipped: no MNIST in $PARAGRAD_SHARED_DATA/mnist");
    return;
  }
  const TemporaryFolder folder;
  options.out = folder.file("mnist.h5");
  options.valid = 5000;
  import_idx(options);
  const auto dataset = Dataset::open(options.out);
  CHECK(dataset->info().samples == std::array<std::size_t, 3>{55000, 5000, 10000});
  CHECK(dataset->info().dim == 784);
  CHECK(
      dataset->info().source_sha256 ==
      std::vector<std::string>{"train-images-idx3-ubyte: ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                               "train-labels-idx1-ubyte: 65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                               "t10k-images-idx3-ubyte: 0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
                               "t10k-labels-idx1-ubyte: ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"});
  const auto [counts, mean] = statistics(*dataset);
  CHECK(counts == std::vector<int>{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949});
  CHECK(mean == Approx(0.13066).margin(5e-6));
  CHECK(verify(options.out).empty());
}

TEST_CASE("Fashion-MNIST imports as the Fashion-MNIST that is known", "[data]") {
  ImportIdxOptions options;
  options.folder = "/usr/share/datasets/fashion-mnist";
  if (!std::filesystem::is_directory(options.folder)) {
    WARN("skipped: Debian's package dataset-fashion-mnist is not installed");
    return;
  }
  const TemporaryFolder folder;
  options.out = folder.file("fashion.h5");
  options.valid = 5000;
  import_idx(options);
  const auto dataset = Dataset::open(options.out);
  CHECK(dataset->info().samples == std::array<std::size_t, 3>{55000, 5000, 10000});
  const auto [counts, mean] = statistics(*dataset);
  CHECK(counts == std::vector<int>(10, 6000));
  CHECK(mean == Approx(0.2860).margin(5e-5));
}
