#include "app/shared_options.hpp"

#include "app/catalogue_options.hpp"
#include "app/foreign_words.hpp"
#include "backend/activation.hpp"
#include "backend/backend_info.hpp"
#include "nn/node_text.hpp"
#include "sim/network/network.hpp"

namespace paragrad::app {

CLI::Option* add_loss_option(CLI::App& parser, std::string& loss) {
  const std::vector<std::string> losses{"cross_entropy", "squared_error", "ctc"};
  return parser
      .add_option("--loss", loss,
                  "loss function; squared_error also takes real-valued targets; ctc (recurrent models only) needs no "
                  "alignment of labels to frames")
      ->check(known_names(losses))
      ->check(no_foreign_word("loss", losses));
}

CLI::Option* add_device_option(CLI::App& parser, std::string& device) {
  return add_choice(parser, backend::device_catalogue(), device, "compute device, and the precision of its matrix products");
}

CLI::Option* add_model_option(CLI::App& parser, const char* flag, std::string& model, const std::string& help) {
  const auto names = backend::activation_names();
  const CLI::Validator check_activation = no_foreign_word("activation function", {names.begin(), names.end()});
  return parser.add_option(flag, model, help)->transform([check_activation](const std::string& text) {
    if (text.starts_with("file:")) return nn::read_node_text(text.substr(5));
    if (const std::size_t colon = text.find(':'); colon != text.npos && !text.starts_with("zoo:"))
      check_activation(text.substr(colon + 1));
    return text;
  });
}

CLI::Option* add_network_option(CLI::App& parser, std::string& network) {
  return add_choice(parser, sim::network_catalogue(), network, "network model: how messages share links");
}

}  // namespace paragrad::app
