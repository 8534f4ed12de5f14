#pragma once

#include <string>
#include <vector>

#include "data/import_report.hpp"

namespace paragrad::core {
class OptionList;
}

namespace paragrad::data {

struct ImportTextOptions {
  std::string from;              ///< a file, or a folder whose files are the documents; plain or .gz
  std::string tokens = "bytes";  ///< or characters, or bpe:FOLDER
  std::string out, name, source{}, licence{};
  double valid = 0, test = 0;  ///< shares of the text that become these sets
  std::string cut = "tokens";  ///< where the text is cut into sets: at any token, or between documents

  void describe(core::OptionList& list);
};

/// Converts a text into tokens. The training set is the beginning of the text, then come validation and test set. Documents
/// of a folder follow each other in the order of their names. Hidden files are ignored; folders are left out and named.
/// Holds the text and four bytes per token in memory. Throws ConfigError for a missing or empty text, text that is not UTF-8
/// unless tokens are bytes, and sets without a token.
Imported import_text(const ImportTextOptions& options);

}  // namespace paragrad::data
