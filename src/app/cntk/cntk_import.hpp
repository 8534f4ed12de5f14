#pragma once

#include <string>
#include <vector>

#include "app/cntk/cntk_block.hpp"

namespace paragrad::app {

/// The SGD block of a CNTK configuration file in Paragrad's options, including CNTK's (2.x) defaults where they affect what
/// is computed: minibatches of 256 samples, momentum 0.9 per minibatch, 120,000 or 40,000 samples between synchronisations.
struct CntkImport {
  struct Setting {
    std::string option;
    std::string value;   ///< as TOML
    std::string origin;  ///< set if the value is not simply the key's value
  };

  std::string file;
  int line = 0;  ///< where the block begins
  std::vector<Setting> settings;
  std::vector<CntkRemark> remarks;  ///< sorted by line

  /// A file for --config, with the remarks as comments.
  std::string toml() const;
};

/// The keys are in app/cntk/cntk_keys.def. workers: the number that will train, 0 if unknown; CNTK counts minibatches, and
/// blocks given by blockSize, over all workers together. Throws ConfigError, with file and line, for a missing SGD block, a
/// value of the wrong kind, and keys that exclude each other.
CntkImport import_cntk(const BrainScript& script, int workers);

}  // namespace paragrad::app
