// Damaged files of images: each is read or refused (tests/fuzz.hpp).
#include <numeric>

#include "catch.hpp"
#include "checksummed.hpp"
#include "core/printable.hpp"
#include "data/cifar.hpp"
#include "data/idx_file.hpp"
#include "data/npy.hpp"
#include "data/numpy_import.hpp"
#include "data/picture.hpp"
#include "fuzz.hpp"
#include "mutations.hpp"
#include "support.hpp"
#include "system/files.hpp"

using namespace paragrad;
using namespace paragrad::data;

namespace {

/// A file that another program wrote (tests/data/pictures/make.py).
std::string picture(const char* name) {
  return system::read_text(std::string(PARAGRAD_SOURCE "/tests/data/pictures/") + name);
}

std::string npy_file(const std::string& dictionary, std::size_t bytes) {
  const std::string text = dictionary + "\n";
  return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(text.size()) + '\0' + text + std::string(bytes, '\1');
}

std::string idx_file() { return std::string("\0\0\x08\x03\0\0\0\x05\0\0\0\x02\0\0\0\x03", 16) + std::string(30, '\5'); }

/// Damaged forms of the files in turn.
auto damaged_forms(std::vector<std::string> files) {
  return [files = std::move(files)](std::size_t input) { return test::mutated(files[input % files.size()], input); };
}

std::span<const std::byte> bytes_of(const std::string& file) { return std::as_bytes(std::span(file)); }

}  // namespace

TEST_CASE("damaged PNG and JPEG files", "[data][fuzz]") {
  std::vector<std::string> files;
  for (const char* name :
       {"grey.png", "colour.png", "transparent.png", "palette.png", "deep.png", "grey.jpg", "colour.jpg", "progressive.jpg"})
    files.push_back(picture(name));
  const auto damaged = [&](std::size_t input) {
    std::string file = test::mutated(files[input % files.size()], input);
    return file.starts_with("\x89PNG") && input / files.size() % 2 == 0 ? with_right_checksums(std::move(file)) : file;
  };
  const auto read = [](const std::string& file) {
    const Picture picture = decode_picture(bytes_of(file), "input");
    CHECK(picture.pixels.size() == picture.shape.height * picture.shape.width * picture.shape.channels);
    CHECK(!picture.pixels.empty());
  };
  test::survive(test::fuzz_inputs(), damaged, read);
  for (const std::string& file : files) CHECK_NOTHROW(read(file));
}

TEST_CASE("damaged NumPy arrays", "[data][fuzz]") {
  const std::vector<std::string> files{npy_file("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3, 4), }", 24),
                                       npy_file("{'descr': '<i8', 'fortran_order': False, 'shape': (3,)}", 24),
                                       npy_file("{\"shape\": (2, 1), \"descr\": \">u2\", \"fortran_order\": False}  ", 4),
                                       npy_file("{'descr': '<i4', 'fortran_order': False, 'shape': (), }", 4),
                                       npy_file("{'descr': '<f2', 'fortran_order': True, 'shape': (2, 3, 2), }", 24),
                                       npy_file("{'descr': '>f8', 'fortran_order': False, 'shape': (2, 2)}", 32),
                                       npy_file("{'descr': '|b1', 'fortran_order': True, 'shape': (7,)}", 7),
                                       npy_file("{'descr': '<U2', 'fortran_order': False, 'shape': (3,)}", 24),
                                       npy_file("{'descr': '|S3', 'fortran_order': True, 'shape': (2, 1)}", 6)};
  const auto read = [](const std::string& file) {
    const NpyArray array = parse_npy(bytes_of(file), "input");
    const std::size_t wanted = std::accumulate(array.shape.begin(), array.shape.end(), std::size_t{1}, std::multiplies<>());
    CHECK(array.elements() == wanted);
    if (wanted > 0) CHECK(array.place(wanted - 1).starts_with("input["));
    for (std::size_t i = 0; i < wanted; ++i)
      if (array.is_text())
        CHECK(core::is_utf8(array.text(i)));
      else if (array.whole())
        CHECK(static_cast<double>(array.integer(i)) == array.number(i));
  };
  test::survive(test::fuzz_inputs(), damaged_forms(files), read);
  for (const std::string& file : files) CHECK_NOTHROW(read(file));
}

TEST_CASE("damaged .npz files", "[data][fuzz]") {
  const test::TemporaryFolder folder;
  ImportNumpyOptions options;
  options.from = folder.file("images.npz");
  options.out = folder.file("out.h5");
  options.name = "fuzz";
  options.valid = 1;
  const std::string images = npy_file("{'descr': '|u1', 'fortran_order': False, 'shape': (4, 2, 3), }", 24),
                    labels = npy_file("{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }", 4),
                    frames = npy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3), }", 48),
                    lengths = npy_file("{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }", 4),
                    weights = npy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }", 16);
  // The archive, or one of its arrays under a checksum that is right.
  const auto damaged = [&, whole = picture("images.npz")](std::size_t input) {
    if (input % 2 == 0) return test::mutated(whole, input);
    std::vector<std::pair<std::string, std::string>> files{
        {"x_train.npy", images}, {"y_train.npy", labels}, {"x_test.npy", images}, {"y_test.npy", labels}};
    if (input % 4 == 1)
      files = {{"x.npy", frames},
               {"y.npy", labels},
               {"lengths.npy", lengths},
               {input % 8 == 1 ? "weights.npy" : "other.npy", input % 8 == 1 ? weights : frames}};
    std::string& file = files[input / 4 % 4].second;
    file = test::mutated(file, input);
    return zip(files);
  };
  const auto read = [&](const std::string& file) {
    write_text(options.from, file);
    const DatasetInfo info = import_numpy(options);
    CHECK(info.samples[0] + info.samples[1] > 1);
  };
  test::survive(test::fuzz_inputs(2), damaged, read);
  CHECK_NOTHROW(read(picture("images.npz")));
}

TEST_CASE("damaged IDX files", "[data][fuzz]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("images");
  // Every third is compressed after it was damaged, every third before.
  const auto damaged = [](std::size_t input) {
    if (input % 3 == 0) return test::mutated(gzip(idx_file()), input);
    return input % 3 == 1 ? gzip(test::mutated(idx_file(), input)) : test::mutated(idx_file(), input);
  };
  const auto read = [&](const std::string& file) {
    write_text(path, file);
    const IdxFile read = read_idx(path);
    CHECK(read.shape[0] * read.row_elements() == read.bytes.size());
  };
  test::survive(test::fuzz_inputs(), damaged, read);
  CHECK_NOTHROW(read(idx_file()));
  CHECK_NOTHROW(read(gzip(idx_file())));
}

TEST_CASE("damaged files of CIFAR", "[data][fuzz]") {
  const test::TemporaryFolder folder;
  std::string records;
  for (char label = 0; label < 3; ++label) records += label + std::string(3072, '\7');
  for (const char* name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                           "data_batch_5.bin", "test_batch.bin"})
    write_text(folder.file(name), records);
  ImportCifarOptions options;
  options.folder = folder.path();
  options.out = folder.file("out.h5");
  options.name = "fuzz";
  options.valid = 1;
  const auto read = [&](const std::string& file) {
    write_text(folder.file("data_batch_3.bin"), file);
    const DatasetInfo info = import_cifar(options);
    CHECK(info.samples[0] + info.samples[1] >= 13);
  };
  test::survive(test::fuzz_inputs(10), damaged_forms({records}), read);
  CHECK_NOTHROW(read(records));
}
