#include <dlfcn.h>
#include <flite/flite.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "speech/synthesis/phones.hpp"
#include "speech/synthesis/voice.hpp"

namespace paragrad::speech {
namespace {

// Number of the 25 mel cepstra, counted from the last, that the filter omits: one eighth less time, a slightly smoother
// spectrum.
constexpr int left_out_cepstra = 5;

constexpr std::array<const char*, 3> voices{"slt", "rms", "awb"};

/// Loads the voice's library, which is not linked because relocating its megabytes of pointers would slow every start. It
/// stays loaded: flite keeps pointers into it.
cst_voice* open_voice(const std::string& name) {
  const std::string library = "libflite_cmu_us_" + name + ".so";
  const auto refuse = [&](const std::string& why) {
    throw core::ConfigError(core::format("flite's voice '{}' cannot be loaded ({}): install libflite1", name, why));
  };
  void* loaded = dlopen((library + ".1").c_str(), RTLD_NOW | RTLD_LOCAL);
  const std::string why = loaded == nullptr ? dlerror() : "";
  if (loaded == nullptr) loaded = dlopen((PARAGRAD_FLITE_FOLDER "/" + library).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) refuse(why);
  void* const address = dlsym(loaded, ("register_cmu_us_" + name).c_str());
  if (address == nullptr) refuse(dlerror());
  return reinterpret_cast<cst_voice* (*)(const char*)>(address)(nullptr);
}

using OwnedUtterance = std::unique_ptr<cst_utterance, decltype(&delete_utterance)>;

/// The phone state of an item of the relation HMMstate, found through its phone.
std::uint8_t state_of(const cst_item* state) {
  const std::string_view phone = item_feat_string(item_parent(item_as(state, "segstate")), "name");
  const int place = item_feat_int(state, "statepos");  // from 1
  const auto known = std::ranges::find(phone_names, phone);
  if (known == phone_names.end() || place < 1 || place > static_cast<int>(states_per_phone))
    throw core::ConfigError(core::format("a flite voice has state {} of phone '{}', which is unknown", place, phone));
  return static_cast<std::uint8_t>((known - phone_names.begin()) * states_per_phone + place - 1);
}

/// The state of each 5 ms: the frames of a state are its daughters in the relation mcep_link.
std::vector<std::uint8_t> states_of(const cst_utterance& utterance) {
  std::vector<std::uint8_t> states;
  for (const cst_item* item = relation_head(utt_relation(&utterance, "HMMstate")); item != nullptr; item = item_next(item)) {
    const auto state = state_of(item);
    for (const cst_item* part = item_daughter(item_as(item, "mcep_link")); part != nullptr; part = item_next(part))
      states.push_back(state);
  }
  return states;
}

}  // namespace

std::vector<std::string> Voice::names() { return {voices.begin(), voices.end()}; }

bool Voice::available() { return true; }

Voice::Voice(const std::string& name) {
  if (std::ranges::find(voices, name) == voices.end()) throw core::unknown_name("voice", name, names());
  flite_init();
  auto* const voice = open_voice(name);
  flite_feat_set_int(voice->features, "mlsa_speed_param", left_out_cepstra);
  voice_ = voice;
}

Spoken Voice::say(const std::string& text, const Manner& manner, std::uint32_t id) {
  auto* const voice = static_cast<cst_voice*>(voice_);
  flite_feat_set_float(voice->features, "f0_shift", static_cast<float>(manner.pitch));
  flite_feat_set_float(voice->features, "duration_stretch", static_cast<float>(manner.duration));
  std::srand(id);  // the vocoder's noise comes from rand(), so earlier calls would change it
  const OwnedUtterance utterance(flite_synth_text(text.c_str(), voice), delete_utterance);
  const cst_wave* const wave = utterance ? utt_wave(utterance.get()) : nullptr;
  if (wave == nullptr || wave->num_samples <= 0)
    throw core::ConfigError(core::format("the sentence '{}' produces no sound", text));
  return {{wave->samples, wave->samples + wave->num_samples}, states_of(*utterance)};
}

}  // namespace paragrad::speech
