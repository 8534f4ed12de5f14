#include <algorithm>
#include <array>
#include <cmath>

#include "catch.hpp"
#include "core/errors.hpp"
#include "signals.hpp"
#include "speech/kaldi_table.hpp"

using namespace paragrad;
using namespace paragrad::speech;
using namespace std::string_literals;

namespace {

// What goldens/make_kaldi.py puts into its archives.
std::string key_of(std::size_t u) { return "speaker" + std::to_string(u) + "-utt" + std::to_string(u); }

Matrix<double> matrix_of(std::size_t u) {
  Matrix<double> matrix(5 + 2 * u, 3 + u);
  for (std::size_t r = 0; r < matrix.rows; ++r)
    for (std::size_t c = 0; c < matrix.columns; ++c)
      matrix.row(r)[c] = (static_cast<double>((37 * r + 11 * c + 5 * u) % 101) - 50) / 8;
  return matrix;
}

std::string archive(const std::string& name) { return golden_path("kaldi_" + name + ".ark"); }

/// Everything a table holds is read, or a sentence says why not.
bool read_or_refused(const std::string& path) {
  try {
    const KaldiTable table(path);
    for (std::size_t i = 0; i < table.size(); ++i) {
      const auto object = table.object(i);
      for (int kind = 0; kind < 3; ++kind) try {
          if (kind == 0) object.matrix<float>();
          if (kind == 1) object.floats();
          if (kind == 2) object.whole();
        } catch (const core::ConfigError&) {
        }
    }
  } catch (const core::ConfigError& error) {
    return std::string(error.what()).find('\n') == std::string::npos;
  }
  return true;
}

}  // namespace

TEST_CASE("matrices as kaldiio writes them are read exactly", "[speech]") {
  const std::string name = GENERATE("float", "double", "text");
  const KaldiTable table("ark:" + archive(name));
  REQUIRE(table.size() == 3);
  for (std::size_t u = 0; u < 3; ++u) {
    CHECK(table.key(u) == key_of(u));
    CHECK(table.find(key_of(u)) == u);
    const auto object = table.object(u);
    const auto expected = matrix_of(u);
    CHECK(object.rows() == expected.rows);
    CHECK(object.columns() == expected.columns);
    CHECK(object.matrix<double>().values == expected.values);
    const std::vector<float> floats(expected.values.begin(), expected.values.end());
    CHECK(object.matrix<float>().values == floats);
  }
  CHECK_FALSE(table.find("speaker3-utt3"));
}

TEST_CASE("compressed matrices are what kaldiio reads out of them, and near what was written", "[speech]") {
  const std::string name = GENERATE("cm", "cm2", "cm3", "auto", "cm2_signed", "cm3_whole", "cm3_unit");
  const auto expected = golden("kaldi_" + name, 1);
  const KaldiTable table(archive(name));
  REQUIRE(table.size() == 3);
  std::size_t at = 0;
  for (std::size_t u = 0; u < 3; ++u) {
    const auto matrix = table.object(u).matrix<float>();
    const auto original = matrix_of(u);
    REQUIRE(matrix.rows == original.rows);
    REQUIRE(matrix.columns == original.columns);
    for (std::size_t i = 0; i < matrix.values.size(); ++i, ++at) {
      CHECK(matrix.values[i] == Approx(expected.values.at(at)).epsilon(1e-6).margin(2e-6));
      if (name == "cm" || name == "cm2" || name == "cm3") CHECK(std::abs(matrix.values[i] - original.values[i]) < 0.06);
    }
  }
  CHECK(at == expected.rows);
}

TEST_CASE("vectors of int32 are read, each element after its size, and as text with brackets or without", "[speech]") {
  const test::TemporaryFolder folder;
  std::string path;
  SECTION("binary") { path = archive("whole"); }
  SECTION("text of kaldiio") { path = archive("whole_text"); }
  SECTION("text of Kaldi") {
    path = folder.file("ali.ark");
    auto text = test::read_text(archive("whole_text"));
    for (const char bracket : {'[', ']'}) std::erase(text, bracket);
    test::write_text(path, text + "empty \nnothing\n");
    const KaldiTable table(path);
    CHECK(table.size() == 5);
    CHECK(table.object(3).whole().empty());
    CHECK(table.object(4).whole().empty());
  }
  const KaldiTable table(path);
  for (std::size_t u = 0; u < 3; ++u) {
    std::vector<std::int32_t> expected;
    for (std::size_t i = 0; i < 5 + 2 * u; ++i) expected.push_back(static_cast<std::int32_t>(i * (u + 1) * 1000) - 7);
    CHECK(table.object(u).whole() == expected);
    CHECK(table.object(u).columns() == expected.size());
  }
}

TEST_CASE("vectors of floating-point numbers are read exactly", "[speech]") {
  const std::string name = GENERATE("vector", "vector_double", "vector_text");
  const KaldiTable table(archive(name));
  for (std::size_t u = 0; u < 3; ++u) {
    const auto floats = table.object(u).floats();
    const auto expected = matrix_of(u);
    REQUIRE(floats.size() == expected.rows);
    for (std::size_t r = 0; r < floats.size(); ++r) CHECK(floats[r] == expected.row(r)[0]);
    if (name != "vector_text") CHECK_THROWS_WITH(table.object(u).matrix<float>(), contains_text("it is a vector"));
    CHECK_THROWS_AS(table.object(u).whole(), core::ConfigError);
  }
}

TEST_CASE("numbers of text archives may be tiny, huge or have a plus sign", "[speech]") {
  const test::TemporaryFolder folder;
  const auto path = folder.file("text.ark");
  test::write_text(path, "u  [\n 1e-46 -1e-60 1e-400\n +1.5 +0 -0.5e+2 ]\nv  [ 1e39 1e400 ]\nw +1 -2 +0\nx  [ 1.5x ]\n");
  const KaldiTable table(path);
  CHECK(table.object(0).matrix<float>().values == std::vector<float>{0, 0, 0, 1.5f, 0, -50});
  CHECK(table.object(0).matrix<double>().values == std::vector<double>{1e-46, -1e-60, 0, 1.5, 0, -50});
  CHECK(std::isinf(table.object(1).matrix<float>().values[0]));
  CHECK(table.object(1).matrix<double>().values[0] == 1e39);
  CHECK(table.object(2).whole() == std::vector<std::int32_t>{1, -2, 0});
  CHECK_THROWS_WITH(table.object(3).matrix<float>(), contains_text("'1.5x' is not a number"));
}

TEST_CASE("a script leads to its objects, in its own order", "[speech]") {
  const test::TemporaryFolder folder;
  const auto script = folder.file("feats.scp");
  const auto big = archive("float"), compressed = archive("cm");
  test::write_text(script, "b " + big + ":244\n\n a\t" + big + ":14  \nc " + big + ":103\nd " + compressed + ":14\n");
  const KaldiTable table(GENERATE(false, true) ? script : "scp:" + script);
  REQUIRE(table.size() == 4);
  CHECK(table.key(0) == "b");
  CHECK(table.object(0).matrix<double>().values == matrix_of(2).values);
  CHECK(table.object(table.find("a").value()).matrix<double>().values == matrix_of(0).values);
  CHECK(table.object(table.find("d").value()).rows() == 5);
  CHECK(table.object(2).matrix<double>().values == matrix_of(1).values);
}

TEST_CASE("a script may name files of one object each", "[speech]") {
  const test::TemporaryFolder folder;
  test::write_text(folder.file("one.mat"), test::read_text(archive("float")).substr(14, 5 + 10 + 4 * 15));
  test::write_text(folder.file("x.scp"), "u " + folder.file("one.mat") + "\n");
  CHECK(KaldiTable(folder.file("x.scp")).object(0).matrix<double>().values == matrix_of(0).values);
  CHECK(read_lone_matrix(folder.file("one.mat")).value().values == matrix_of(0).values);
  CHECK_FALSE(read_lone_matrix(archive("float")).has_value());
  CHECK_FALSE(read_lone_matrix(archive("text")).has_value());
}

TEST_CASE("what scripts may hold and is not read here is refused in one sentence", "[speech]") {
  const test::TemporaryFolder folder;
  const auto script = folder.file("x.scp");
  const auto refused = [&](const std::string& text, const std::string& why) {
    test::write_text(script, text);
    CHECK_THROWS_WITH(KaldiTable(script).object(0), contains_text(why));
  };
  refused("u gunzip -c x.gz |\n", "is a pipe, which is not supported");
  refused("u x.ark:14[0:9]\n", "is a range of a matrix");
  refused("u -\n", "is the standard input");
  refused("u\n", "line 1 of");
  refused("u x.ark:1\nu x.ark:2\n", "has 'u' twice");
  refused("u x.ark:y\n", "'y' is not an offset");
  refused("u " + archive("float") + ":99999\n", "there is nothing at offset 99999");
  refused("u " + archive("float") + ":99999999999999999999999\n", "is not an offset");
  refused("u " + folder.file("none.ark") + ":3\n", "none.ark");
  refused("u " + folder.path() + "\n", "not a regular file");
  refused("", "is empty");
  CHECK_THROWS_WITH(KaldiTable("ark:gunzip -c x.gz |"), contains_text("is a pipe"));
  CHECK_THROWS_WITH(KaldiTable("ark:-"), contains_text("is the standard input"));
  CHECK_THROWS_WITH(KaldiTable("ark:"), contains_text("no file is named"));
}

TEST_CASE("damaged and foreign archives are refused with file and utterance", "[speech]") {
  const test::TemporaryFolder folder;
  const auto path = folder.file("x.ark");
  const auto refused = [&](const std::string& bytes, const std::string& why) {
    test::write_text(path, bytes);
    CHECK_THROWS_WITH(
        [&] {
          const KaldiTable table(path);
          table.object(0).rows() == 1 && table.object(0).columns() == 3 ? static_cast<void>(table.object(0).whole())
                                                                        : static_cast<void>(table.object(0).matrix<float>());
        }(),
        contains_text(why) && contains_text("x.ark"));
  };
  const auto size = [](std::uint32_t n) { return "\4"s + std::string(reinterpret_cast<const char*>(&n), 4); };
  const auto plain = [&](std::uint32_t n) { return size(n).substr(1); };
  refused("", "is empty");
  refused("u1", "u1");
  refused(std::string(100000, 'x'), "no key at offset 0");
  refused(
      "\x7f"
      "ELF\1\2\3\0"s,
      "no key");
  refused("\x1f\x8b\x08"s, "gzip");
  refused("u1 \0BFM "s, "ends within the size");
  refused("u1 \0BFM "s + size(0x7fffffff) + size(0x7fffffff) + "abcd",
          "'u1': it is truncated or damaged: 2147483647x2147483647 numbers");
  refused("u1 \0BFM "s + size(0xffffffff) + size(1) + "abcd", "size of an object is damaged");
  refused("u1 \0BFM "s + size(0) + size(5), "0x5 is damaged");
  refused("u1 \0BFM \x08"s + size(1) + size(1) + "abcd", "size of an object is damaged");
  refused("u1 \0BSM "s + size(1), "it is 'SM', neither");
  refused("u1 \0B\1\2\3"s, "unknown binary data");
  refused("u1 \0BCM2 "s + plain(0) + plain(0) + plain(1000) + plain(1000) + "abcd", "1000x1000 numbers extend beyond");
  refused("u1 \0BCM "s + plain(0) + plain(0) + plain(0xffffffff) + plain(1), "-1x1 is damaged");
  refused("u1 \0BCM "s + plain(0), "ends within the head");
  refused("u1 \0B"s + size(3) + size(1) + size(2) + "\5abcd", "element 2 of a vector of int32");
  refused("u1 [ 1 2\n 3 ]\n", "row 2 has 1 numbers, but the row before it has 2");
  refused("u1 [ 1 2\n 3 4\n", "a '[' without a ']'");
  refused("u1 [ 1 two\n 3 4 ]\n", "'two' is not a number");
  refused("u1 1 2.5 3\n", "'2.5' is not an int32");
  refused("u1 1 2 99999999999\n", "'99999999999' is not an int32");
  refused("u1 1 2 3\nu1 4\n", "has 'u1' twice");
}

TEST_CASE("an empty compressed matrix is passed over, with the four bytes that Kaldi writes too many", "[speech]") {
  const test::TemporaryFolder folder;
  const auto more = test::read_text(archive("float"));
  for (const std::size_t zeros : {16u, 20u}) {
    test::write_text(folder.file("x.ark"), "empty \0BCM "s + std::string(zeros, '\0') + more);
    const KaldiTable table(folder.file("x.ark"));
    REQUIRE(table.size() == 4);
    CHECK(table.object(0).matrix<float>().values.empty());
    CHECK(table.object(3).matrix<double>().values == matrix_of(2).values);
  }
}

TEST_CASE("no truncation and no flipped bit of an archive does more than give one sentence", "[speech]") {
  const test::TemporaryFolder folder;
  const auto path = folder.file("x.ark");
  const std::string name = GENERATE("float", "cm", "cm2", "cm3", "whole", "vector_double", "text", "whole_text");
  const auto whole = test::read_text(archive(name));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    replace_text(path, whole.substr(0, length));
    CHECK(read_or_refused(path));
  }
  for (std::size_t bit = 0; bit < 8 * whole.size(); bit += 1 + bit % 3) {
    auto flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    replace_text(path, flipped);
    CHECK(read_or_refused(path));
  }
}

TEST_CASE("a map of Kaldi is lines of two words, each key once", "[speech]") {
  const test::TemporaryFolder folder;
  const auto path = folder.file("utt2spk");
  replace_text(path, "u1 alice\nu2\tbob \n\nu3 alice");
  const auto map = read_kaldi_map(path);
  CHECK(map.size() == 3);
  CHECK(map.at("u2") == "bob");
  for (const auto& [text, why] : {std::pair<std::string, std::string>{"u1 a\nu1 b\n", "a second time"},
                                  {"u1\n", "line 1"},
                                  {"u1 a b\n", "more than a key and a value"}}) {
    test::write_text(path, text);
    CHECK_THROWS_WITH(read_kaldi_map(path), contains_text(why));
  }
}
