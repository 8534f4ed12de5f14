// Damaged image files: every reader returns what it promises or throws a ConfigError. PARAGRAD_FUZZ sets the number of
// inputs; meant to run with sanitizers, too (CONTRIBUTING.md).
#include <fstream>
#include <numeric>

#include "catch.hpp"
#include "core/errors.hpp"
#include "core/files.hpp"
#include "data/cifar.hpp"
#include "data/idx_file.hpp"
#include "data/npy.hpp"
#include "data/npz.hpp"
#include "data/picture.hpp"
#include "mutations.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;
using namespace paragrad::data;

namespace {

/// A file that another program wrote (tests/data/pictures/make.py).
std::string picture(const char* name) {
  return core::read_text(std::string(PARAGRAD_SOURCE "/tests/data/pictures/") + name);
}

std::string npy_file(const std::string& dictionary, std::size_t bytes) {
  const std::string text = dictionary + "\n";
  return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(text.size()) + '\0' + text + std::string(bytes, '\1');
}

std::string idx_file() { return std::string("\0\0\x08\x03\0\0\0\x05\0\0\0\x02\0\0\0\x03", 16) + std::string(30, '\5'); }

void write_file(const std::string& path, const std::string& content) { std::ofstream(path, std::ios::binary) << content; }

/// Runs a reader on damaged forms of the files, and expects that it reads some and refuses some.
template <class Read>
void survive(const std::vector<std::string>& files, std::size_t inputs, const Read& read) {
  std::size_t refused = 0;
  for (std::size_t input = 0; input < inputs; ++input) {
    const std::string file = test::mutated(files[input % files.size()], input);
    CAPTURE(input);
    try {
      read(file);
    } catch (const core::ConfigError&) {
      ++refused;
    }
  }
  CHECK(refused > 0);
  for (const std::string& file : files) CHECK_NOTHROW(read(file));
}

std::span<const std::byte> bytes_of(const std::string& file) { return std::as_bytes(std::span(file)); }

}  // namespace

TEST_CASE("damaged PNG and JPEG files", "[data][fuzz]") {
  std::vector<std::string> files;
  for (const char* name :
       {"grey.png", "colour.png", "transparent.png", "palette.png", "deep.png", "grey.jpg", "colour.jpg", "progressive.jpg"})
    files.push_back(picture(name));
  survive(files, test::fuzz_inputs(), [](const std::string& file) {
    const Picture picture = decode_picture(bytes_of(file), "input");
    CHECK(picture.pixels.size() == picture.shape.height * picture.shape.width * picture.shape.channels);
    CHECK(!picture.pixels.empty());
  });
}

TEST_CASE("damaged NumPy arrays", "[data][fuzz]") {
  const std::vector<std::string> files{npy_file("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3, 4), }", 24),
                                       npy_file("{'descr': '<i8', 'fortran_order': False, 'shape': (3,)}", 24),
                                       npy_file("{\"shape\": (2, 1), \"descr\": \">u2\", \"fortran_order\": False}  ", 4),
                                       npy_file("{'descr': '<i4', 'fortran_order': False, 'shape': (), }", 4)};
  survive(files, test::fuzz_inputs(), [](const std::string& file) {
    const NpyArray array = parse_npy(bytes_of(file), "input");
    const std::size_t wanted = std::accumulate(array.shape.begin(), array.shape.end(), std::size_t{1}, std::multiplies<>());
    CHECK(array.elements() == wanted);
    std::int64_t largest = 0;
    for (std::size_t i = 0; i < wanted; ++i) largest = std::max(largest, array.at(i));
    CHECK(largest >= 0);
  });
}

TEST_CASE("damaged .npz files", "[data][fuzz]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("images.npz");
  ImportNpzOptions options;
  options.file = path;
  options.out = folder.file("out.h5");
  options.name = "fuzz";
  options.valid = 1;
  survive({picture("images.npz")}, test::fuzz_inputs() / 5, [&](const std::string& file) {
    write_file(path, file);
    const DatasetInfo info = import_npz(options);
    CHECK(info.samples[2] == 4);
  });
}

TEST_CASE("damaged IDX files", "[data][fuzz]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("images");
  survive({idx_file()}, test::fuzz_inputs(), [&](const std::string& file) {
    write_file(path, file);
    const IdxFile read = read_idx(path);
    CHECK(read.shape[0] * read.row_elements() == read.bytes.size());
  });
}

TEST_CASE("damaged files of CIFAR", "[data][fuzz]") {
  const test::TemporaryFolder folder;
  std::string records;
  for (char label = 0; label < 3; ++label) records += label + std::string(3072, '\7');
  for (const char* name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                           "data_batch_5.bin", "test_batch.bin"})
    write_file(folder.file(name), records);
  ImportCifarOptions options;
  options.folder = folder.path();
  options.out = folder.file("out.h5");
  options.name = "fuzz";
  options.valid = 1;
  survive({records}, test::fuzz_inputs() / 5, [&](const std::string& file) {
    write_file(folder.file("data_batch_3.bin"), file);
    const DatasetInfo info = import_cifar(options);
    CHECK(info.samples[0] + info.samples[1] >= 13);
  });
}
