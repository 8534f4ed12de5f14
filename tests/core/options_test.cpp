#include "core/options.hpp"

#include <cmath>
#include <stdexcept>

#include "catch.hpp"

using namespace paragrad;
using namespace paragrad::core;

namespace {

enum class Colour { red, green };

struct Wheel {
  double size = 1.5;

  void describe(OptionList& list) { list.number("size", size, above_zero, "diameter"); }
};

CatalogueInfo wheels() {
  EntryInfo spoked{.name = "spoked", .parameter = ":N", .summary = "with N spokes"};
  spoked.options = options_of<Wheel>();
  return {"wheel", "wheels", {{.name = "solid", .summary = "cut from one piece"}, spoked}};
}

struct Cart {
  int horses = 2;
  std::optional<double> load;
  bool covered = true;
  Colour colour = Colour::green;
  std::vector<double> stops{1, 2};
  std::string wheel = "solid";

  void describe(OptionList& list) {
    list.group("Carts");
    list.number("horses", horses, {.least = 1, .most = 8}, "how many pull");
    list.number("load", load, zero_or_more, "tons, or auto");
    list.flag("covered", covered, "against rain");
    list.choice("colour", colour, {{"red", Colour::red}, {"green", Colour::green}}, "paint");
    list.numbers("stops", stops, any_number, "miles");
    list.entry("wheel", wheel, wheels, "kind of wheel");
    list.uses("road");
    list.uses("road");  // by two parts; listed once
  }
};

}  // namespace

TEST_CASE("options are read from settings of any type, and have their defaults otherwise", "[core]") {
  const auto cart = read_options<Cart>(
      {{"horses", 4}, {"load", 0.1}, {"covered", false}, {"colour", "red"}, {"stops", "3,4.5"}, {"wheel", "spoked:12"}});
  CHECK(cart.horses == 4);
  CHECK(cart.load == 0.1);
  CHECK_FALSE(cart.covered);
  CHECK(cart.colour == Colour::red);
  CHECK(cart.stops == std::vector<double>{3, 4.5});
  CHECK(cart.wheel == "spoked:12");
  const auto plain = read_options<Cart>({{"load", "auto"}, {"another's", 1}});
  CHECK(plain.horses == 2);
  CHECK(plain.load == std::nullopt);
  CHECK(plain.covered);
}

TEST_CASE("what is told about options follows from the struct", "[core]") {
  const auto infos = options_of<Cart>();
  REQUIRE(infos.size() == 7);
  CHECK(infos[0].kind == "INT");
  CHECK(infos[0].range == "1 to 8");
  CHECK(infos[0].by_default == "2");
  CHECK(infos[0].group == "Carts");
  CHECK(infos[1].by_default == "auto");
  CHECK(infos[3].values == std::vector<std::string>{"red", "green"});
  CHECK(infos[3].by_default == "green");
  CHECK(infos[4].by_default == "1,2");
  CHECK(infos[5].catalogue().names() == std::vector<std::string>{"solid", "spoked"});
  CHECK(infos[6].kind.empty());
  const EntryInfo entry{.name = "cart", .options = infos};
  const auto values = values_of(entry, {{"horses", 3}});
  CHECK(values.at("horses") == "3");
  CHECK(values.at("colour") == "green");
  CHECK(values.count("road") == 0);
}

TEST_CASE("a value that an option does not take is refused with its range", "[core]") {
  const auto reads = [](const std::string& name, const Setting& value) { read_options<Cart>({{name, value}}); };
  CHECK_THROWS_WITH(reads("horses", 9), "`horses`: '9' is not a whole number from 1 to 8");
  CHECK_THROWS_WITH(reads("horses", "two"), "`horses`: 'two' is not a whole number from 1 to 8");
  CHECK_THROWS_WITH(reads("horses", "auto"), contains_text("'auto' is not a whole number"));
  CHECK_THROWS_WITH(reads("load", -1), "`load`: '-1' is not a number of 0 or more");
  CHECK_THROWS_WITH(reads("load", "nan"), contains_text("'nan' is not a number"));
  CHECK_THROWS_WITH(reads("covered", "perhaps"), "`covered`: 'perhaps' is neither true nor false");
  CHECK_THROWS_WITH(reads("colour", "blue"), "`colour`: 'blue' is unknown; known: red, green");
  CHECK_THROWS_WITH(reads("stops", "1,,2"), "`stops`: '1,,2' has an empty element");
  CHECK_THROWS_WITH(reads("stops", ""), "`stops`: '' is not a list");
  for (const OptionInfo& info : options_of<Cart>())
    if (info.name == "horses") CHECK_THROWS_AS(info.check("0"), OptionError);
}

TEST_CASE("settings are those of an entry and of the entries that it chooses", "[core]") {
  const EntryInfo cart{.name = "cart", .options = options_of<Cart>()};
  CHECK_NOTHROW(check_settings(cart, "vehicle", {{"horses", 3}, {"road", "gravel"}}));
  CHECK_NOTHROW(check_settings(cart, "vehicle", {{"wheel", "spoked:8"}, {"size", 2}}));
  CHECK_THROWS_WITH(check_settings(cart, "vehicle", {{"size", 2}}),
                    contains_text("the vehicle cart has no option `size`; its options are `colour`, `covered`"));
  CHECK_THROWS_WITH(check_settings({.name = "sledge"}, "vehicle", {{"horses", 1}}),
                    "the vehicle sledge has no options, and hence no `horses`");
}

TEST_CASE("a parameter belongs to the entries that take one", "[core]") {
  struct Entry {
    EntryInfo info;
  };
  const std::vector<Entry> known{{{.name = "solid"}}, {{.name = "spoked", .parameter = ":N"}}};
  CHECK(find_entry("wheel", "solid", known).info.name == "solid");
  CHECK(find_entry("wheel", "spoked:12", known).info.name == "spoked");
  CHECK_THROWS_WITH(find_entry("wheel", "solid:12", known), "wheel 'solid:12' takes no parameter: write solid");
}

namespace {

struct Wagon {
  int horses = 2, riders = 0;
  bool bells = false;
  double whip = 0;
  std::string wheel = "solid";
  Settings of_wheel{};

  void describe(OptionList& list) {
    list.number("horses", horses, {.least = 0, .most = 8}, "how many pull");
    list.flag("bells", bells, "on the harness").unless(riders > 4, "would not be heard by so many `riders`");
    {
      const auto pulled = list.only_when(horses > 0, "needs `horses`", "horses");
      list.number("whip", whip, zero_or_more, "length").off("0").when(riders > 0, "needs `riders`");
    }
    list.number("riders", riders, {.least = 0, .most = 9}, "how many sit");
    list.entry("wheel", wheel, wheels, "kind of wheel");
    list.entries(wheels(), wheel, of_wheel);
  }

  OptionInfo described(const std::string& name) {
    OptionList list;
    describe(list);
    for (const auto& [info, _] : list.members())
      if (info.name == name) return info;
    throw std::logic_error(name);
  }
};

}  // namespace

TEST_CASE("conditions of options hold for the present values", "[core]") {
  Wagon wagon{.horses = 0, .riders = 5};
  CHECK(wagon.described("whip").unused == "needs `horses`");  // that of the group comes first
  CHECK(wagon.described("whip").refines == "horses");
  CHECK(wagon.described("riders").unused.empty());  // not of the group
  CHECK(wagon.described("bells").refused == "would not be heard by so many `riders`");
  wagon.horses = 1;
  CHECK(wagon.described("whip").unused.empty());
  wagon.riders = 0;
  CHECK(wagon.described("whip").unused == "needs `riders`");
  CHECK(wagon.described("bells").refused.empty());
  CHECK(wagon.described("size").help == "spoked: diameter");  // of an entry, which is named
}

TEST_CASE("what is outside its range or cannot be combined is refused, unless it is off", "[core]") {
  require_valid(Wagon{});
  require_valid(Wagon{.riders = 5});  // the bells are off
  CHECK_THROWS_WITH(require_valid(Wagon{.riders = 5, .bells = true}), "`bells` would not be heard by so many `riders`");
  CHECK_THROWS_WITH(require_valid(Wagon{.horses = 9}), "`horses`: '9' is not a whole number from 0 to 8");
  CHECK_THROWS_WITH(require_valid(Wagon{.whip = NAN}), contains_text("`whip`: 'nan'"));
}
