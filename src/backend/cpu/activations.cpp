#include "backend/cpu/bodies.hpp"
#include "backend/cpu/vector.hpp"

// Functions that are not fused into products: GELU and SiLU in vectors, the others by their formulas.
namespace paragrad::backend::cpu {
namespace {

/// The normal distribution function Φ(z), absolute error below 1e-7 (Hastings' approximation of erf: Abramowitz and Stegun,
/// 7.1.26), and its density.
struct Normal {
  Vector below, density;

  explicit Normal(Vector z) {
    const Vector size = z < 0.f ? -z : z, e = exponential(z * z * -0.5f);
    const Vector t = 1.f / (1.f + size * 0.231641888f);  // 0.3275911/√2
    Vector p = broadcast(1.061405429f);
    p = multiply_add(p, t, broadcast(-1.453152027f));
    p = multiply_add(p, t, broadcast(1.421413741f));
    p = multiply_add(p, t, broadcast(-0.284496736f));
    p = multiply_add(p, t, broadcast(0.254829592f));
    const Vector beyond = p * t * e * 0.5f;
    below = z < 0.f ? beyond : 1.f - beyond;
    density = e * 0.3989422804f;
  }
};

struct GeluVectors {
  static Vector value(Vector z) { return z * Normal(z).below; }
  static Vector slope(Vector z) {
    const Normal normal(z);
    return multiply_add(z, normal.density, normal.below);
  }
};

struct SiluVectors {
  static Vector value(Vector z) { return z * activate<Activation::sigmoid>(z); }
  static Vector slope(Vector z) {
    const Vector gate = activate<Activation::sigmoid>(z);
    return gate * (1.f + z * (1.f - gate));
  }
};

/// Calls with.template operator()<Vectors>() for a function that has vectors; whether it has.
template <class With>
bool with_vectors(Activation f, const With& with) {
  if (f == Activation::gelu)
    with.template operator()<GeluVectors>();
  else if (f == Activation::silu)
    with.template operator()<SiluVectors>();
  else
    return false;
  return true;
}

}  // namespace

void run(Workspace&, const Activate& kernel) {
  const auto& [f, z, y] = kernel;
  const bool done =
      with_vectors(f, [&, &z = z, &y = y]<class Vectors>() { transform(y.size(), y.data(), Vectors::value, z.data()); });
  if (!done) run_reference(kernel);
}

void run(Workspace&, const ActivationGradient& kernel) {
  const auto& [f, at, dy, keep, dz] = kernel;
  const bool done = with_vectors(f, [&, &at = at, &dy = dy, keep = keep, &dz = dz]<class Vectors>() {
    if (keep == 0)
      transform(
          dz.size(), dz.data(), [](Vector z, Vector d) { return d * Vectors::slope(z); }, at.data(), dy.data());
    else
      transform(
          dz.size(), dz.data(), [&](Vector z, Vector d, Vector old) { return keep * old + d * Vectors::slope(z); },
          at.data(), dy.data(), dz.data());
  });
  if (!done) run_reference(kernel);
}

}  // namespace paragrad::backend::cpu
