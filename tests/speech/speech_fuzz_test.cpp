// Damaged recordings, Kaldi files and texts: each is read or refused (tests/fuzz.hpp).
#include "catch.hpp"
#include "fuzz.hpp"
#include "mutations.hpp"
#include "riff.hpp"
#include "signals.hpp"
#include "speech/kaldi_import.hpp"
#include "speech/kaldi_table.hpp"
#include "speech/synthesis/sentences.hpp"
#include "speech/wav.hpp"
#include "system/files.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;
using namespace paragrad::speech;

namespace {

std::vector<std::string> golden_archives() {
  std::vector<std::string> files;
  for (const char* name :
       {"float", "double", "text", "cm", "cm2", "cm3", "vector", "vector_double", "vector_text", "whole", "whole_text"})
    files.push_back(system::read_text(golden_path(std::string("kaldi_") + name + ".ark")));
  return files;
}

/// Reads the object as everything that it may be. Throws ConfigError if it is nothing.
void read_as_anything(const KaldiObject& object) {
  std::size_t kinds = 0;
  const auto attempt = [&](const auto& numbers) {
    try {
      const std::size_t found = numbers();
      CHECK(found == object.rows() * object.columns());
      ++kinds;
    } catch (const core::ConfigError&) {
    }
  };
  attempt([&] { return object.matrix<float>().values.size(); });
  attempt([&] { return object.matrix<double>().values.size(); });
  attempt([&] { return object.floats().size(); });
  attempt([&] { return object.whole().size(); });
  if (kinds == 0) throw core::ConfigError("it is neither a matrix nor a vector");
}

}  // namespace

TEST_CASE("damaged WAV files", "[speech][fuzz]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("x.wav");
  const std::string extended = little(22, 2) + little(16, 2) + little(4, 4) + little(1, 2) + std::string(14, 'x'),
                    sound = part("data", samples({1, -2, 300, -32768, 32767}));
  const std::array<std::string, 2> files{
      riff(part("LIST", "odd") + part("fmt ", format(1, 1, 8000, 16)) + sound),
      riff(part("fmt ", format(0xfffe, 1, 16000, 16) + extended) + part("fact", "1234") + sound + part("tail", ""))};
  const auto read = [&](const std::string& file) {
    test::write_text(path, file);
    const Wave wave = read_wav(path);
    CHECK(wave.sample_rate >= 1);
    CHECK(wave.samples.size() <= file.size() / 2);
  };
  test::survive(
      test::fuzz_inputs(), [&](std::size_t input) { return test::mutated(files[input % 2], input); }, read);
  for (const std::string& file : files) CHECK_NOTHROW(read(file));
}

TEST_CASE("damaged matrices and vectors of Kaldi", "[speech][fuzz]") {
  const std::vector<std::string> archives = golden_archives();
  constexpr std::array<std::string_view, 8> words{"[", "]", "\n", "nan", "1e39", "-", std::string_view("\0B", 2), "CM2 "};
  const auto damaged = [&](std::size_t input) {
    const std::string& archive = archives[input % archives.size()];
    return test::mutated(archive.substr(archive.find(' ') + 1), input, words);  // after the key
  };
  test::survive(test::fuzz_inputs(), damaged, [&](const std::string& bytes) {
    const KaldiObject object(bytes, 0, {"input", "key"});
    CHECK(object.end() <= bytes.size());
    read_as_anything(object);
  });
}

TEST_CASE("damaged archives of Kaldi", "[speech][fuzz]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("x.ark");
  const std::vector<std::string> archives = golden_archives();
  const auto read = [&](const std::string& file) {
    test::write_text(path, file);
    const KaldiTable table("ark:" + path);
    for (std::size_t i = 0; i < table.size(); ++i) {
      CHECK(table.find(table.key(i)) == i);
      read_as_anything(table.object(i));
    }
  };
  test::survive(
      test::fuzz_inputs(2), [&](std::size_t input) { return test::mutated(archives[input % archives.size()], input); },
      read);
  for (const std::string& file : archives) CHECK_NOTHROW(read(file));
}

TEST_CASE("damaged scripts and maps of Kaldi", "[speech][fuzz]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("x.scp"), archive = golden_path("kaldi_float.ark");
  const std::string script = "a " + archive + ":17\nb " + archive + ":17\nc\t" + archive + ":18\r\n",
                    map = "a x\nb y\r\n\nc x\n";
  constexpr std::array<std::string_view, 10> words{"|",        "-", "[0:3]", ":",  ":99999999999999999999",
                                                   ":1234567", " ", "\n",    "\t", "a"};
  const auto read = [&](const std::string& file) {
    test::write_text(path, file);
    if (file.find(':') == std::string::npos) {
      const auto values = read_kaldi_map(path);
      CHECK(values.size() <= file.size() / 3);
      return;
    }
    const KaldiTable table(path);
    CHECK(table.size() > 0);
    for (std::size_t i = 0; i < table.size(); ++i) read_as_anything(table.object(i));
  };
  test::survive(
      test::fuzz_inputs(), [&](std::size_t input) { return test::mutated(input % 2 == 0 ? script : map, input, words); },
      read);
  CHECK_NOTHROW(read_kaldi_map((test::write_text(path, map), path)));
}

TEST_CASE("damaged inputs of an import from Kaldi", "[speech][fuzz]") {
  const test::TemporaryFolder folder;
  const std::array<std::pair<const char*, std::string>, 5> files{
      {{"feats", "a [ 1 2\n 3 4\n 5 7 ]\nb [ 1 0\n 0 1 ]\nc [ 2 2\n 1 3 ]\n"},
       {"ali", "c 1 0\na 0 1 2\nb 2 2\n"},
       {"utt2spk", "a s\nb s\nc t\n"},
       {"cmvn", " [ 7 9 3\n 30 40 0 ]\n"},
       {"names", "x\ny\nz\n"}}};
  ImportKaldiOptions options;
  options.features[0] = folder.file("feats");
  options.alignments[0] = folder.file("ali");
  options.utt2spk = folder.file("utt2spk");
  options.class_names = folder.file("names");
  options.out = folder.file("x.h5");
  options.name = "fuzz";
  constexpr std::array<std::string_view, 8> words{"nan", "1e39", "[", "]", "\n", " ", "-1", "99999999999"};
  struct Task {
    std::size_t damaged;
    std::string text;
    std::size_t size() const { return text.size(); }
  };
  const auto read = [&](const Task& task) {
    for (std::size_t i = 0; i < files.size(); ++i)
      test::write_text(folder.file(files[i].first), i == task.damaged ? task.text : files[i].second);
    options.cmvn = task.damaged == 3 ? folder.file("cmvn") : "speaker";
    options.valid = task.damaged == 0 ? 1 : 0;
    options.skip_missing = task.text.size() % 2 == 0;
    const ImportedKaldi imported = import_kaldi(options);
    CHECK(imported.info.classes > 0);
  };
  const auto damaged = [&](std::size_t input) {
    return Task{input % files.size(), test::mutated(files[input % files.size()].second, input, words)};
  };
  test::survive(test::fuzz_inputs(10), damaged, read, test::as_objects);  // names of classes
  for (std::size_t i = 0; i < files.size(); ++i) CHECK_NOTHROW(read({i, files[i].second}));
}

TEST_CASE("damaged texts of sentences", "[speech][fuzz]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("text"), text = "Let there be light.\n(And there) \"was\" light!\n";
  constexpr std::array<std::string_view, 6> words{"\n", " ", "'", "-", "\xc3\xa9", "twentyonelettersofword"};
  test::survive(
      test::fuzz_inputs(), [&](std::size_t input) { return test::mutated(text, input, words); },
      [&](const std::string& damaged) {
        test::write_text(path, damaged);
        for (const std::string& sentence : read_sentences(path)) CHECK(words_of(sentence).size() >= 3);
      });
}
