#pragma once

#include <string>
#include <vector>

#include "app/cntk/cntk_block.hpp"

namespace paragrad::app {

/// What Paragrad makes of the SGD block of a CNTK configuration file, with the defaults of CNTK (2.x) where they decide what
/// is computed: minibatches of 256 samples, momentum 0.9 per minibatch, 120,000 or 40,000 samples between synchronisations.
struct CntkImport {
  struct Setting {
    std::string option;
    std::string value;   ///< as TOML
    std::string origin;  ///< where it is not plainly the key's value
  };

  std::string file;
  int line = 0;  ///< where the block begins
  std::vector<Setting> settings;
  std::vector<CntkRemark> remarks;  ///< by lines

  /// A file for --config, the remarks as comments.
  std::string toml() const;
};

/// The keys are in app/cntk/cntk_keys.def. workers: how many are going to train, 0 if that is not known; CNTK counts
/// minibatches, and blocks where blockSize gives them, over all workers together. Throws ConfigError, with file and line: no
/// SGD block, a value of another kind, keys that exclude each other.
CntkImport import_cntk(const BrainScript& script, int workers);

}  // namespace paragrad::app
