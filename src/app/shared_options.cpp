#include "app/shared_options.hpp"

#include "app/described_options.hpp"
#include "app/foreign_words.hpp"
#include "backend/activation.hpp"
#include "backend/backend_info.hpp"
#include "nn/loss.hpp"
#include "sim/network/network.hpp"

namespace paragrad::app {

CLI::Option* add_loss_option(CLI::App& parser, std::string& loss) {
  return add_choice(parser, nn::loss_catalogue(), loss, "loss function to score with");
}

CLI::Option* add_device_option(CLI::App& parser, std::string& device) {
  return add_choice(parser, backend::device_catalogue(), device, "compute device, and the precision of its matrix products");
}

void check_activations(CLI::Option& model) {
  const auto names = backend::activation_names();
  const CLI::Validator check = no_foreign_word("activation function", {names.begin(), names.end()});
  model.check([check](const std::string& text) {
    const std::size_t colon = text.find(':');
    return colon == text.npos || text.starts_with("zoo:") ? std::string() : check(text.substr(colon + 1));
  });
}

CLI::Option* add_network_option(CLI::App& parser, std::string& network) {
  return add_choice(parser, sim::network_catalogue(), network, "network model: how messages share links");
}

}  // namespace paragrad::app
