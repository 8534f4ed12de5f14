#include "python/python_strategy.hpp"

namespace paragrad::strategies {

namespace nb = nanobind;

namespace {

nb::handle given_strategy;  // options are texts, which cannot carry it

}  // namespace

GivenStrategy::GivenStrategy(nb::handle given) { given_strategy = given; }
GivenStrategy::~GivenStrategy() { given_strategy = {}; }

void require_given(const PythonOptions& options) {
  if (!given_strategy.is_valid() || given_strategy.is_none())
    throw core::ConfigError(
        core::format("options and files cannot choose a strategy in Python{}: give the class itself, as in "
                     "paragrad.train(strategy=CLASS)",
                     options.python_class.empty() ? "" : core::format(", here '{}'", options.python_class)));
}

nb::object make_python_object() { return given_strategy(); }

void add_arrays(core::StateView& state, const nb::object& returned) {
  if (!nb::isinstance<nb::dict>(returned))
    throw core::ConfigError(core::format("a strategy's state() must return a dict of NumPy arrays, not {}",
                                         nb::cast<std::string>(returned.type().attr("__name__"))));
  const nb::object ndarray = nb::module_::import_("numpy").attr("ndarray");  // other arrays may end with their wrapper
  for (const auto [key, value] : nb::cast<nb::dict>(returned)) {
    const auto name = nb::cast<std::string>(nb::str(key));
    if (!nb::isinstance<nb::str>(key) || !nb::cast<bool>(key.attr("isidentifier")()))
      throw core::ConfigError(
          core::format("the name '{}' in a strategy's state() must be a Python identifier, such as momentum", name));
    python::FloatArray array;
    if (!nb::isinstance(value, ndarray) || !nb::try_cast(value, array, false))
      throw core::ConfigError(
          core::format("'{}' in a strategy's state() must be a contiguous, writable NumPy array of float32", name));
    state.add(name, {array.data(), array.size()}, core::Rescale::own);
  }
}

void check_arrays(const core::StateView& now, const core::StateView& before, bool same_memory) {
  const auto same = [](const core::StateView::Array& a, const core::StateView::Array& b) {
    return a.name == b.name && a.values.size() == b.values.size();
  };
  if (!std::ranges::equal(now.arrays, before.arrays, same))
    throw core::ConfigError(
        "a strategy's state() must always return arrays with the names and lengths that they had after start()");
  for (std::size_t i = 0; same_memory && i < now.arrays.size(); ++i)
    if (now.arrays[i].values.data() != before.arrays[i].values.data())
      throw core::ConfigError(core::format("'{}' in a strategy's state() is a copy: return the array that the strategy uses",
                                           now.arrays[i].name));
}

}  // namespace paragrad::strategies
