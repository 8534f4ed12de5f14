// What is printed of names and messages from outside.
#include "core/printable.hpp"

#include <string>

#include "catch.hpp"

using namespace paragrad::core;

TEST_CASE("control characters, broken UTF-8 and turned writing are printed as escapes, other text as it is", "[core]") {
  CHECK(printable("plain \"text\" 100 %") == "plain \"text\" 100 %");
  CHECK(printable("grün – 数") == "grün – 数");
  CHECK(printable("a\n\tb\x1b[31m\x7f") == "a\\n\\tb\\x1b[31m\\x7f");
  CHECK(printable("\xc2\x9b") == "\\xc2\\x9b");                             // a control character of two bytes
  CHECK(printable("\xff\xc3") == "\\xff\\xc3");                             // no UTF-8
  CHECK(printable("\xc0\xaf\xed\xa0\x80") == "\\xc0\\xaf\\xed\\xa0\\x80");  // too long a form, half a pair
  CHECK(printable("\xe2\x80\xae") == "\\xe2\\x80\\xae");                    // turns what follows
  CHECK(printable(std::string_view("\0", 1)) == "\\x00");
}

TEST_CASE("a message keeps its words, but for the middle of an endless one", "[core]") {
  CHECK(printable_message("three  short words ") == "three  short words ");
  const std::string name(300, 'x'), endless(10000, 'y');
  CHECK(printable_message("'" + name.substr(2) + "' is kept") == "'" + name.substr(2) + "' is kept");
  const std::string cut = printable_message("no '" + endless + "' here");
  CHECK(cut.starts_with("no 'yyy"));
  CHECK(cut.ends_with("yyy' here"));
  CHECK(cut.find("[... 9862 bytes ...]") != std::string::npos);
  CHECK(cut.size() < 200);
}
