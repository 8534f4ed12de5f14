#include "app/shared_options.hpp"

#include "app/catalogue_options.hpp"
#include "backend/backend_info.hpp"
#include "nn/node_text.hpp"
#include "sim/network/network.hpp"

namespace paragrad::app {

CLI::Option* add_loss_option(CLI::App& parser, std::string& loss) {
  return parser
      .add_option("--loss", loss, "loss function; ctc (recurrent models only) needs no alignment of labels to frames")
      ->check(known_names({"cross_entropy", "squared_error", "ctc"}));
}

CLI::Option* add_device_option(CLI::App& parser, std::string& device) {
  return add_choice(parser, backend::device_catalogue(), device, "compute device, and the precision of its matrix products");
}

CLI::Option* add_model_option(CLI::App& parser, const char* flag, std::string& model, const std::string& help) {
  return parser.add_option(flag, model, help)->transform([](const std::string& text) {
    return text.starts_with("file:") ? nn::read_node_text(text.substr(5)) : text;
  });
}

CLI::Option* add_network_option(CLI::App& parser, std::string& network) {
  return add_choice(parser, sim::network_catalogue(), network, "network model: how messages share links");
}

}  // namespace paragrad::app
