#pragma once

#include <string>
#include <string_view>

#include "core/options.hpp"
#include "nn/graph.hpp"

/// Networks as text: the nodes in execution order, one per line (or, in one line, between semicolons).
///
///   network small           # its name; may be left out
///   input 28x28x1           # height x width x channels, or a number of features
///   c1 = convolution input outputs=16 size=5
///   r1 = relu c1
///   p1 = max_pool r1 size=2 stride=2
///   y = affine p1 outputs=10
///
/// The input of a text is 'input tokens=65 context=64': vocabulary and length of windows. 'shared=NODE' at the end of a line
/// gives a node the parameters of an earlier one.
///
/// A node is NAME = OPERATION INPUTS KEY=VALUE…; operations are those of ops/catalogue.def and the activation functions. The
/// last node is the output. Initial weights suit the activation function that follows, also behind a normalisation.
namespace paragrad::nn {

/// Whether a model's description is such a text.
bool is_node_text(std::string_view model);

/// The file's text in one line, without comments: what a checkpoint stores. Throws ConfigError.
std::string read_node_text(const std::string& path);

/// The model that an option names: of file:PATH, the text in that file.
std::string read_model(const std::string& option);

/// Throws ConfigError, a sentence that names the node.
Graph make_node_graph(std::string_view text);

/// What messages call a model: a text by its name.
std::string short_name(const std::string& model);

/// The operations that a node can name, without the activation functions.
core::CatalogueInfo op_catalogue();

}  // namespace paragrad::nn
