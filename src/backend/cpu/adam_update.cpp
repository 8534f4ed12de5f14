#include "backend/cpu/bodies.hpp"
#include "backend/cpu/vector.hpp"

namespace paragrad::backend::cpu {

// The compiler does not vectorise the generic loop's square root. The same bits.
void run(Workspace&, const AdamUpdate& kernel) {
  const AdamStep& step = kernel.step;
  const std::size_t count = kernel.w.size();
  const float* const g = kernel.g.data();
  float *const m = kernel.m.data(), *const v = kernel.v.data(), *const w = kernel.w.data();
  const auto number = [](double value) { return static_cast<float>(value); };
  const float rate = number(step.rate), unbias = number(step.unbias), epsilon = number(step.epsilon);
  const float beta1 = number(step.beta1), gain1 = number(1 - step.beta1);
  const float beta2 = number(step.beta2), gain2 = number(1 - step.beta2);
  const float scale = number(step.gradient_scale), decay = number(step.decay), shrink = number(step.shrink);
  const auto move = [&](Vector gradient, Vector& first, Vector& second, Vector& weight) {
    const Vector d = scale * gradient + decay * weight;
    first = beta1 * first + gain1 * d;
    second = beta2 * second + gain2 * (d * d);
    weight -= shrink * weight + rate * first / (square_root(unbias * second) + epsilon);
  };
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    Vector first = load(m + i), second = load(v + i), weight = load(w + i);
    move(load(g + i), first, second, weight);
    store(first, m + i);
    store(second, v + i);
    store(weight, w + i);
  }
  if (i == count) return;
  const std::size_t rest = count - i;
  Vector first = load_part(m + i, rest), second = load_part(v + i, rest), weight = load_part(w + i, rest);
  move(load_part(g + i, rest), first, second, weight);
  store_part(first, m + i, rest);
  store_part(second, v + i, rest);
  store_part(weight, w + i, rest);
}

}  // namespace paragrad::backend::cpu
