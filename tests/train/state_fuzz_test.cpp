// Damaged checkpoints and states of interrupted runs (tests/fuzz.hpp).
#include <filesystem>

#include "backend/device.hpp"
#include "catch.hpp"
#include "core/checksum.hpp"
#include "fuzz.hpp"
#include "hdf5_content.hpp"
#include "mutations.hpp"
#include "temporary_folder.hpp"
#include "train/state/checkpoint.hpp"
#include "train/state/progress_file.hpp"
#include "train/state/rescale.hpp"
#include "train/state/saved_state.hpp"
#include "train/state/state_store.hpp"

using namespace paragrad;
using test::Hdf5Content;

namespace {

template <class T>
T* attribute_of(Hdf5Content& content, const std::string& name) {
  for (auto& attribute : content.attributes)
    if (attribute.name == name) return std::get_if<T>(&attribute.value);
  return nullptr;
}

const Hdf5Content::Array* array_of(const Hdf5Content& content, const std::string& name) {
  const auto found = std::ranges::find(content.arrays, name, &Hdf5Content::Array::name);
  return found == content.arrays.end() ? nullptr : &*found;
}

Hdf5Content checkpoint_content() {
  Hdf5Content content;
  content.attributes = {
      {"/", "format", "paragrad-checkpoint"}, {"/", "version", std::uint64_t{2}}, {"/", "model", "2-3"},
      {"/", "dataset_sha256", "abc"},         {"/", "epoch", std::uint64_t{4}},   {"/", "parameters_sha256", ""}};
  content.add<float>("/parameters", {1, 2, 3, 4, 5, 6, 7, 8, 9});
  return content;
}

/// As the program would have written it.
void make_checksum_right(Hdf5Content& content) {
  auto* const sum = attribute_of<std::string>(content, "parameters_sha256");
  const auto* const array = array_of(content, "/parameters");
  if (sum == nullptr || array == nullptr) return;
  std::vector<float> values(array->bytes.size() / sizeof(float));
  array->bytes.copy(reinterpret_cast<char*>(values.data()), values.size() * sizeof(float));
  *sum = train::parameters_sha256(values);
}

Hdf5Content state_content() {
  Hdf5Content content;
  content.attributes = {{"/", "format", "paragrad-state"},
                        {"/", "version", std::uint64_t{6}},
                        {"/", "xxh3", ""},
                        {"/", "run", "a run"},
                        {"/", "set", "0-1-0"},
                        {"/", "worker", std::uint64_t{0}},
                        {"/", "workers", std::uint64_t{2}},
                        {"/", "array_names", std::vector<std::string>{"parameters", "momentum", "model"}},
                        {"/", "number_names", std::vector<std::string>{"epoch", "rate"}},
                        {"/", "piece_names", std::vector<std::string>{"model"}}};
  content.add<float>("/arrays/0", {1, 2, 3});
  content.add<float>("/arrays/1", {4, 5, 6});
  content.add<float>("/arrays/2", {7, 8, 9});
  content.add<std::uint64_t>("/pieces/0", {0, 1, 4, 6});
  content.add<double>("/numbers", {3, 0.1});
  return content;
}

/// The sum of the names and values in the order of the names (SavedState::checksum).
void make_state_checksum_right(Hdf5Content& content) {
  auto* const sum = attribute_of<std::string>(content, "xxh3");
  if (sum == nullptr) return;
  std::map<std::string, std::string> arrays, numbers, pieces;
  if (const auto* names = attribute_of<std::vector<std::string>>(content, "array_names"))
    for (std::size_t i = 0; i < names->size(); ++i)
      if (const auto* array = array_of(content, "/arrays/" + std::to_string(i))) arrays[(*names)[i]] = array->bytes;
  const auto* const values = array_of(content, "/numbers");
  if (const auto* names = attribute_of<std::vector<std::string>>(content, "number_names"))
    for (std::size_t i = 0; i < names->size() && values != nullptr && (i + 1) * sizeof(double) <= values->bytes.size(); ++i)
      numbers[(*names)[i]] = values->bytes.substr(i * sizeof(double), sizeof(double));
  if (const auto* names = attribute_of<std::vector<std::string>>(content, "piece_names"))
    for (std::size_t i = 0; i < names->size(); ++i)
      if (const auto* array = array_of(content, "/pieces/" + std::to_string(i))) pieces[(*names)[i]] = array->bytes;
  core::Checksum hash;
  const auto add = [&](const std::string& bytes) { hash.update(std::as_bytes(std::span(bytes))); };
  add("a run 0-1-0 0 2\n");
  for (const auto& all : {arrays, numbers, pieces})
    for (const auto& [name, bytes] : all) {
      add(name);
      add(bytes);
    }
  *sum = hash.digits();
}

std::string pointer_text() {
  return R"({"version":2,"set":"0-3-2","phase":0,"workers":2,"run":{"options_sha256":"aa","data_sha256":"bb",)"
         R"("partition_sha256":"cc","data_bytes":123,"data_modified_ns":456},"records":{"count":2,"sha256":"dd"}})"
         "\n";
}

}  // namespace

TEST_CASE("damaged checkpoints", "[train][fuzz]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("checkpoint.h5");
  const test::ForbiddenFile other(checkpoint_content().write(folder.file("other.h5")));
  const auto damaged = [](std::size_t input) {
    auto content = checkpoint_content();
    make_checksum_right(content);
    content = test::damaged(std::move(content), input);
    if (input % 4 != 0) make_checksum_right(content);
    return content;
  };
  const auto read = [&](const Hdf5Content& content) {
    content.write(path, other.path());
    const test::ForbiddenFile::Watch watch(other);
    const train::Checkpoint checkpoint = train::read_checkpoint(path);
    CHECK(checkpoint.parameters.size() * sizeof(float) == array_of(content, "/parameters")->bytes.size());
  };
  test::survive(test::fuzz_inputs(10), damaged, read);
  auto intact = checkpoint_content();
  make_checksum_right(intact);
  CHECK_NOTHROW(read(intact));
}

TEST_CASE("damaged states of workers", "[train][fuzz]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("worker-00000.h5");
  const test::ForbiddenFile other(state_content().write(folder.file("other.h5")));
  const auto device = backend::make_device("cpu");
  const auto damaged = [](std::size_t input) {
    auto content = test::damaged(state_content(), input);
    if (input % 4 != 0) make_state_checksum_right(content);
    return content;
  };
  const auto read = [&](const Hdf5Content& content) {
    content.write(path, other.path());
    const test::ForbiddenFile::Watch watch(other);
    std::vector<float> parameters(3), momentum(3), model(3);
    double rate = 0;
    std::uint64_t epoch = 0;
    core::StateView state;
    state.add("parameters", parameters, core::Rescale::equal);
    state.add("momentum", momentum, core::Rescale::mean);
    state.add("model", model, {{0, 1}, {4, 6}});
    state.add("epoch", epoch, core::Rescale::equal);
    state.add("rate", rate, core::Rescale::sum);
    const auto saved = train::SavedState::read(path, {"a run", "0-1-0", 0, 2});
    saved.restore(state, *device);
    train::rescaled(state, {.before = 2, .now = 3, .rank = 1}, [&](int) { return saved; });
  };
  test::survive(test::fuzz_inputs(10), damaged, read);
  auto intact = state_content();
  make_state_checksum_right(intact);
  CHECK_NOTHROW(read(intact));
}

TEST_CASE("damaged pointers to the last state and notes of progress", "[train][fuzz]") {
  const test::TemporaryFolder folder;
  constexpr std::array<std::string_view, 16> words{"null", "-1",         "0.5",     "1e999", "99999999999",        "{",
                                                   "}",    "[]",         "\"",      ",",     "\"set\":\"1-1-1\",", "-",
                                                   "0-",   "9999999999", "\\u0000", "\xff"};
  struct Files {
    std::string pointer, progress;
    std::size_t size() const { return pointer.size() + progress.size(); }
  };
  const auto damaged = [&](std::size_t input) {
    Files files{pointer_text(), "0 4 1 5\n"};
    switch (input % 3) {
      case 0:
        files.pointer = test::mutated(files.pointer, input, words);
        break;
      case 1:  // within what is still a pointer
        files.pointer.replace(
            20, 5, test::mutated("0-3-2", input, std::array<std::string_view, 4>{"-", "0-", "99999999999", "00"}));
        break;
      default:
        files.progress = test::mutated(files.progress, input, words);
    }
    return files;
  };
  const auto read = [&](const Files& files) {
    test::write_text(folder.file("latest.json"), files.pointer);
    test::write_text(folder.file("progress.txt"), files.progress);
    const auto phase = train::StateStore::saved_phase(folder.path());
    const auto position = train::StateStore::saved_position(folder.path());
    const auto lost = train::lost_work(folder.path());
    CHECK(position->phase == phase);
    CHECK(position->epoch >= 1);
    if (lost) CHECK(lost->from.epoch >= 1);
  };
  test::survive(test::fuzz_inputs(), damaged, read, test::as_objects);
  CHECK_NOTHROW(read({pointer_text(), "0 4 1 5\n"}));
}
