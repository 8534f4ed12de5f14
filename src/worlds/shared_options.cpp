#include "worlds/shared_options.hpp"

#include "backend/activation.hpp"
#include "backend/backend_info.hpp"
#include "cli/foreign_words.hpp"
#include "sim/network/network.hpp"

namespace paragrad::worlds {

core::DescribedOption describe_device(core::OptionList& list, std::string& device) {
  return list.entry("device", device, backend::device_catalogue, "compute device, and the precision of its matrix products");
}

core::DescribedOption describe_platform(core::OptionList& list, std::string& platform) {
  return list.text("platform", platform,
                   "simulated cluster: a platform file, or a built-in platform such as k40m-fdr (paragrad platform lists "
                   "them)");
}

core::DescribedOption describe_network(core::OptionList& list, std::string& network) {
  return list.entry("network", network, sim::network_catalogue, "network model: how messages share links");
}

core::DescribedOption describe_oversubscribe(core::OptionList& list, bool& oversubscribe) {
  return list.flag("oversubscribe", oversubscribe,
                   "allow more workers than the platform has devices, and share the devices");
}

core::DescribedOption describe_overwrite(core::OptionList& list, bool& overwrite, const std::string& out) {
  return list.flag("overwrite", overwrite, "replace an existing run in the `out` folder")
      .typed_only()
      .when(!out.empty(), "needs `out`: it replaces the run in that folder");
}

void check_activations(CLI::Option& model) {
  const auto names = backend::activation_names();
  const CLI::Validator check = cli::no_foreign_word("activation function", {names.begin(), names.end()});
  model.check([check](const std::string& text) {
    const std::size_t colon = text.find(':');
    return colon == text.npos || text.starts_with("zoo:") ? std::string() : check(text.substr(colon + 1));
  });
}

}  // namespace paragrad::worlds
