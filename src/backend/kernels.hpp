#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/call_times.hpp"
#include "backend/copy_stream.hpp"
#include "backend/device_allreduce.hpp"
#include "backend/lstm_arguments.hpp"
#include "backend/quantiser.hpp"
#include "backend/work_meter.hpp"
#include "core/arena.hpp"
#include "core/encoding.hpp"
#include "core/philox.hpp"

namespace paragrad::backend {

/// Elementwise function after an affine map. Each derivative is a function of the output y alone:
/// identity 1, sigmoid y(1-y), tanh 1-y², relu [y > 0].
enum class Activation { identity, sigmoid, tanh, relu };

enum class Transpose { no, yes };

/// Sums over samples: loss in nats (or squared units), samples whose largest output is not the label.
struct LossSum {
  double loss = 0;
  std::int64_t errors = 0;
  double free_energy = 0;  ///< where what is trained has one

  LossSum& operator+=(const LossSum& other) {
    loss += other.loss;
    errors += other.errors;
    free_energy += other.free_energy;
    return *this;
  }
};

/// The numbers of a step of Adam (Kingma and Ba, ICLR 2015), its t-th.
struct AdamStep {
  double rate = 0;    ///< α/(1 - β1^t)
  double beta1 = 0;   ///< of the mean gradient
  double beta2 = 0;   ///< of the mean square
  double unbias = 1;  ///< 1/(1 - β2^t)
  double epsilon = 0;
  double gradient_scale = 1;  ///< what makes a mean of the gradient
  double decay = 0;           ///< times w is added to that mean
  double shrink = 0;          ///< times w is taken off w, past the moments (AdamW)
};

/// Dense mathematics on flat float32 arrays of one device. Matrices are row-major without padding; a batch is
/// [batch][features]. Shapes are checked by the caller (a mismatch is a logic_error).
///
/// Memory. All spans and pointers are memory of this device, but for `active` (lengths of sequences), which the host reads.
/// Whether the host can reach a device's memory is_host() says; transfer() copies between the two.
///
/// Time. A device takes up calls in their order, and may be at them still when they have returned: the host looks at what
/// they write after finish(), or has it by transfer(), and memory that they use stays until then. What a kernel finds out
/// stays where it was found: sums are added to a place in the device's memory.
///
/// The public functions add their work to `meter` and call the body, so every device, the one without arithmetic (meta)
/// included, counts the same flops and bytes.
///
/// One object per worker; calls of one object must not overlap. Given the same inputs, a device returns the same bits on
/// every call, from whatever thread.
class Device {
 public:
  virtual ~Device() = default;

  virtual std::string_view name() const = 0;
  /// Zeros; see device_array.hpp for other types. May be called by any thread, beside other calls.
  virtual core::Arena allocate(std::size_t count) const = 0;

  /// Whether the host may use this device's memory as its own.
  virtual bool is_host() const { return true; }

  /// Whether an address is memory that the host cannot reach, of some device of this kind.
  virtual bool is_isolated(const void* /*address*/) const { return false; }

  /// Whether that memory is CUDA's, which some communication libraries can reach.
  virtual bool is_cuda() const { return false; }

  /// Maker, model and memory of a device that is not the host's processor: "NVIDIA H200, 151 GB".
  virtual std::string hardware() const { return ""; }

  /// Memory of the host that transfer() reaches fastest; content undefined.
  virtual core::Arena allocate_on_host(std::size_t count) const { return core::host_arena(count); }

  /// to = from, each of them memory of a device of this kind or of the host; after all that was called before, and done on
  /// return. No work of the device: it is not counted. Of memory without content (meta) nothing comes, into it nothing goes.
  template <class T>
  void transfer(std::span<const T> from, std::span<T> to) {
    transfer_bytes(std::as_bytes(from), std::as_writable_bytes(to));
  }

  /// to = from, memory of the host, in the order of the calls, as a kernel: what `from` holds now, and will be needed no
  /// more on return. Not counted either.
  template <class T>
  void upload(std::span<const T> from, std::span<T> to) {
    upload_bytes(std::as_bytes(from), std::as_writable_bytes(to));
  }

  /// features[i][width] = what the numbers from frame windows[i] of `stored` on mean, stored[frames][frame_dim]; a window
  /// may be of several frames. In the order of the calls. Not counted: as far as time goes, a worker's samples are there.
  void decode(const core::Encoding& encoding, std::size_t frame_dim, std::span<const std::byte> stored,
              std::span<const std::uint32_t> windows, std::span<float> features);

  /// A further way into this device's memory, for another thread; it may be used while the device lives. A logic_error where
  /// that memory is the host's, who needs none.
  virtual std::unique_ptr<CopyStream> make_copy_stream();

  /// A way to sum arrays over devices of other processes without their hosts. Throws ConfigError where there is none.
  virtual std::unique_ptr<DeviceAllreduce> make_allreduce();

  /// What was called before should begin, if it has not: a minibatch is over, say, and the next is likely to be like it. A
  /// device may have put calls off until here.
  virtual void submit() {}

  /// Returns when all that was called before is done.
  virtual void finish() {}

  /// False where there is no arithmetic and no memory (meta): kernels are counted only, losses are 0, and what allocate()
  /// gives has addresses but no content.
  virtual bool computes() const { return true; }

  const WorkMeter& meter() const { return meter_; }

  /// From now on `meter` also adds up what `times` says of each call; nobody: nothing is added.
  void charge_by(std::shared_ptr<const CallTimes> times) { times_ = std::move(times); }
  const std::shared_ptr<const CallTimes>& call_times() const { return times_; }

  /// C[m][n] = A·B + keep·C, where A is [m][k] (or [k][m] when transposed) and B is [k][n] (or [n][k]).
  /// keep = 0 overwrites C, whatever it held (NaN too).
  void gemm(Transpose transpose_a, Transpose transpose_b, std::size_t m, std::size_t n, std::size_t k,
            std::span<const float> a, std::span<const float> b, float keep, std::span<float> c);

  /// y[batch][out] = f(x[batch][in] · w[in][out] + bias[out])
  void affine_forward(std::size_t batch, std::size_t in, std::size_t out, std::span<const float> x, std::span<const float> w,
                      std::span<const float> bias, Activation f, std::span<float> y);

  /// dx[batch][in] = (dz[batch][out] · wᵀ) ∘ f'(x), where x[batch][in] is the output of the layer below and f its
  /// activation.
  void affine_backward_input(std::size_t batch, std::size_t in, std::size_t out, std::span<const float> dz,
                             std::span<const float> w, std::span<const float> x, Activation f, std::span<float> dx);

  /// dw[rows][out] = keep·dw + (xᵀ·dz)[first_row … first_row+rows), x being [batch][in] and dz [batch][out]: a panel of the
  /// gradient of w[in][out]. The bits of a row do not depend on the panel it was computed in.
  void affine_backward_weights(std::size_t batch, std::size_t in, std::size_t out, std::size_t first_row, std::size_t rows,
                               std::span<const float> x, std::span<const float> dz, float keep, std::span<float> dw);

  /// The local step of a layer's weights in one kernel: affine_backward_weights of all rows into d[in][out], then
  /// descend(rate, decay, d, w). Counts the same work and gives the same bits as the two calls, but d and w[in][out] pass
  /// through the cache once, beside the arithmetic.
  void affine_descend(std::size_t batch, std::size_t in, std::size_t out, std::span<const float> x,
                      std::span<const float> dz, float keep, float rate, float decay, std::span<float> d,
                      std::span<float> w);

  /// x[batch][in] = f(y[batch][out] · w[in][out]ᵀ + bias[in]): the weights of affine_forward from their other end.
  void affine_reverse(std::size_t batch, std::size_t in, std::size_t out, std::span<const float> y, std::span<const float> w,
                      std::span<const float> bias, Activation f, std::span<float> x);

  /// Long short-term memory, see backend/lstm_arguments.hpp, over sequences that lie as Steps says. gates hold z on entry;
  /// gates, cells and hidden are filled, and y[frames][directions][R]. A row's values do not depend on which other sequences
  /// there are.
  void lstm_forward(const LstmShape& shape, std::span<const std::uint32_t> active, const LstmWeights& weights,
                    const LstmMemory& memory, std::span<float> y);

  /// The way back through time. dy holds the gradient by y on entry, and what later steps add to it on return; gates
  /// hold the gradient by z on return.
  void lstm_backward(const LstmShape& shape, std::span<const std::uint32_t> active, const LstmWeights& weights,
                     const LstmMemory& memory, std::span<float> dy);

  /// gradients = keep·gradients + what y, and memory and dy after the way back, say of the weights.
  void lstm_gradient(const LstmShape& shape, std::span<const std::uint32_t> active, std::span<const float> y,
                     const LstmMemory& memory, std::span<const float> dy, float keep, const LstmGradients& gradients);

  /// dbias[out] = keep·dbias + Σ over the batch of dz[batch][out]
  void bias_gradient(std::size_t batch, std::size_t out, std::span<const float> dz, float keep, std::span<float> dbias);

  /// dz ∘= f'(y): for a last layer that has an activation.
  void activation_backward(Activation f, std::span<const float> y, std::span<float> dz);

  /// *into += softmax cross-entropy, -Σ log p[label]. Overwrites logits[batch][classes] by its gradient p - onehot(label). A
  /// row with the label -1 has no loss, no error and a gradient of zero; below too.
  void softmax_cross_entropy(std::size_t batch, std::size_t classes, std::span<const std::int32_t> labels,
                             std::span<float> logits, LossSum* into);

  /// *into += squared error against one-hot targets, ½ Σ (y - onehot)². Overwrites y[batch][classes] by its gradient
  /// y - onehot.
  void squared_error(std::size_t batch, std::size_t classes, std::span<const std::int32_t> labels, std::span<float> y,
                     LossSum* into);

  /// Connectionist temporal classification (Graves, Fernández, Gomez and Schmidhuber, ICML 2006) of sequences that lie as
  /// Steps says: *into += -Σ log p(labels), p being the sum over all paths, one class per frame, that give the labels when
  /// of equal neighbours one is left and the blanks, of the last class, are taken out. labels[frames]: those of a sequence
  /// in the places of its first frames, -1 in the others. Overwrites logits[frames][classes] by the gradient.
  ///
  /// errors: labels to be replaced, put in or taken out of what the best path gives (of each frame the largest output).
  /// Labels that need more frames than there are, one for each and one between equal neighbours, have an infinite loss and
  /// a gradient of zero. Reckoned in logarithms, in double. The work is counted without that of the labels, which a device
  /// that does not compute cannot know.
  void ctc(std::size_t classes, std::span<const std::uint32_t> active, std::span<const std::int32_t> labels,
           std::span<float> logits, LossSum* into);

  void fill(float value, std::span<float> x);
  void copy(std::span<const float> from, std::span<float> to);

  /// to[r][c] = from[r][c] for `columns` columns, where the rows of the two matrices may be longer: from_width and to_width
  /// elements. What lies between is left as it is.
  void copy_columns(std::size_t rows, std::size_t columns, std::size_t from_width, std::span<const float> from,
                    std::size_t to_width, std::span<float> to);

  void scale(float factor, std::span<float> x);                ///< x *= factor
  void add(std::span<const float> from, std::span<float> to);  ///< to += from

  /// Every element to within ±limit; NaN stays NaN.
  void clamp(float limit, std::span<float> x);

  /// Each row of w, [columns][rows] as core::Matrix has it, whose norm is above `limit` is scaled to that; squares are added
  /// up in double, in the order of the columns.
  void limit_row_norms(std::size_t rows, std::size_t columns, float limit, std::span<float> w);

  /// d += decay·w; w -= rate·d. Plain SGD when d is the gradient; momentum when backward has accumulated it into d with
  /// keep = momentum. decay = 0 leaves d untouched.
  void descend(float rate, float decay, std::span<float> d, std::span<float> w);

  /// g += decay·w; v = momentum·v + g; w -= rate·(nesterov ? g + momentum·v : v). g itself is left as it was.
  void momentum_update(float rate, float momentum, bool nesterov, float decay, std::span<const float> g, std::span<float> v,
                       std::span<float> w);

  /// d = gradient_scale·g + decay·w;  m = β1·m + (1-β1)·d;  v = β2·v + (1-β2)·d²;
  /// w -= shrink·w + rate·m/(√(unbias·v) + ε). g itself is left as it was.
  void adam_update(const AdamStep& step, std::span<const float> g, std::span<float> m, std::span<float> v,
                   std::span<float> w);

  /// Blockwise model-update filtering (Chen and Huo, ICASSP 2016), in place on one stretch of the model:
  ///   delta = momentum·delta + rate·(average - base);  w += delta;  average = w + ahead·delta
  /// where base = w + ahead_before·delta_before is the point from which the workers set out. `average` holds the mean of the
  /// local models on entry and the next starting point on return. ahead = 0 for classical, = momentum for Nesterov.
  void block_filter(float momentum, float rate, float ahead_before, float ahead, std::span<float> average,
                    std::span<float> w, std::span<float> delta);

  /// to = w + ahead·delta, with the same bits as block_filter's result.
  void look_ahead(float ahead, std::span<const float> w, std::span<const float> delta, std::span<float> to);

  /// An exponential mean that went from `base` to `moment`, keeping `past` of itself, on to where it keeps `keep`:
  ///   estimate = (moment - past·base)/(1 - past);  moment = base = keep·base + (1 - keep)·estimate
  /// of_squares: the estimate is at least 0, whatever rounding makes of it.
  void moment_filter(double past, double keep, bool of_squares, std::span<float> moment, std::span<float> base);

  /// u = x + residual; packed = code(u), column by column; residual = u - decoded(packed). An empty residual: u = x, and the
  /// error is forgotten. x is [columns][rows], a column being one run; packed is [packed_bytes(rows, columns)], laid out as
  /// backend/quantiser.hpp says.
  void quantise(const Quantiser& quantiser, std::size_t rows, std::size_t columns, std::span<const float> x,
                std::span<float> residual, std::span<std::byte> packed);

  /// x = keep·x + decoded(packed), keep being 0 (x is not looked at) or 1.
  void dequantise(const Quantiser& quantiser, std::size_t rows, std::size_t columns, std::span<const std::byte> packed,
                  float keep, std::span<float> x);

  /// u = x + residual; packed = the `keep` elements of u with the largest |u|, the first of equal ones, NaN before all
  /// others, as pairs {uint32 index, float value} with ascending indices; residual = u with those set to 0. An empty
  /// residual: u = x, and what is not kept is forgotten. packed has 8·keep bytes.
  void select_largest(std::size_t keep, std::span<const float> x, std::span<float> residual, std::span<std::byte> packed);

  /// x = keep·x, keep being 0 (x is not looked at) or 1; then x[index] += value for each pair of packed. Their indices
  /// ascend, as select_largest writes them: none stands there twice, so the pairs may be added all at once.
  void scatter_add(std::span<const std::byte> packed, float keep, std::span<float> x);

  /// Makes the columns of a matrix [rows][rank] orthonormal, in place: modified Gram-Schmidt, each column freed twice of
  /// those before it (once leaves errors where columns are nearly parallel; L. Giraud et al., Comput. Math. Appl. 50(7),
  /// 2005). A column of which less than 1e-5 is left by that becomes 0.
  void orthonormalise(std::size_t rows, std::size_t rank, std::span<float> matrix);

  /// *into += weight·Σ x², added up in double in an order that depends on the length alone.
  void add_squared_norm(double weight, std::span<const float> x, double* into);

  /// The same of Σ (a - b)² and of Σ a·b, in the same order.
  void add_squared_distance(double weight, std::span<const float> a, std::span<const float> b, double* into);
  void add_dot(double weight, std::span<const float> a, std::span<const float> b, double* into);

  /// The same of Σ log(1 + e^x); each term is exact to 2e-7, of itself or absolutely.
  void add_softplus_sum(double weight, std::span<const float> x, double* into);

  /// Σ x² for the host, which waits for it. 0 where there is no arithmetic.
  double squared_norm(std::span<const float> x);

  /// y[rows][units] = 1 with probability p[rows][units], else 0: [uniform < p]. A uniform number depends on the stream, on
  /// rows[i] and on the unit alone (backend/random_numbers.hpp), so given p all devices give the same bits. p = NaN gives 0.
  void sample_bernoulli(const core::RandomStream& random, std::span<const std::uint32_t> rows, std::size_t units,
                        std::span<const float> p, std::span<float> y);

  /// y[rows][units] = mean[rows][units] + a standard normal number, of which the same is true.
  void sample_normal(const core::RandomStream& random, std::span<const std::uint32_t> rows, std::size_t units,
                     std::span<const float> mean, std::span<float> y);

  /// Counts a call of `kernel` that is not made: of a layer that is known by its costs alone. flops and bytes are given, as
  /// a convolution is a product that reads its input less often. A logic_error on a device that computes.
  void imagine(Kernel kernel, const CallSize& size, std::uint64_t flops, std::uint64_t bytes);

 private:
  void transfer_bytes(std::span<const std::byte> from, std::span<std::byte> to);
  void upload_bytes(std::span<const std::byte> from, std::span<std::byte> to);

  // The bodies, in the order of the public functions.
  virtual void do_transfer(std::size_t bytes, const std::byte* from, std::byte* to);  // default: both are the host's
  virtual void do_upload(std::size_t bytes, const std::byte* from, std::byte* to) { do_transfer(bytes, from, to); }
  virtual void do_decode(const core::Encoding&, std::size_t frame_dim, std::span<const std::byte> stored,
                         std::span<const std::uint32_t> windows, std::size_t width,
                         float* features);  // default: memory is the host's
  virtual void do_gemm(Transpose, Transpose, std::size_t m, std::size_t n, std::size_t k, const float* a, const float* b,
                       float keep, float* c) = 0;
  virtual void do_affine_forward(std::size_t batch, std::size_t in, std::size_t out, const float* x, const float* w,
                                 const float* bias, Activation, float* y) = 0;
  virtual void do_affine_backward_input(std::size_t batch, std::size_t in, std::size_t out, const float* dz, const float* w,
                                        const float* x, Activation, float* dx) = 0;
  virtual void do_affine_backward_weights(std::size_t batch, std::size_t in, std::size_t out, std::size_t first_row,
                                          std::size_t rows, const float* x, const float* dz, float keep, float* dw) = 0;
  virtual void do_affine_descend(std::size_t batch, std::size_t in, std::size_t out, const float* x, const float* dz,
                                 float keep, float rate, float decay, float* d, float* w);  // default: the two bodies
  virtual void do_affine_reverse(std::size_t batch, std::size_t in, std::size_t out, const float* y, const float* w,
                                 const float* bias, Activation, float* x) = 0;
  virtual void do_lstm_forward(const LstmShape&, const Steps&, const LstmWeights&, const LstmMemory&, float* y) = 0;
  virtual void do_lstm_backward(const LstmShape&, const Steps&, const LstmWeights&, const LstmMemory&, float* dy) = 0;
  virtual void do_lstm_gradient(const LstmShape&, const Steps&, const float* y, const LstmMemory&, const float* dy,
                                float keep, const LstmGradients&) = 0;
  virtual void do_bias_gradient(std::size_t batch, std::size_t out, const float* dz, float keep, float* dbias) = 0;
  virtual void do_activation_backward(Activation, std::size_t count, const float* y, float* dz) = 0;
  virtual void do_softmax_cross_entropy(std::size_t batch, std::size_t classes, const std::int32_t* labels, float* logits,
                                        LossSum* into) = 0;
  virtual void do_squared_error(std::size_t batch, std::size_t classes, const std::int32_t* labels, float* y,
                                LossSum* into) = 0;
  virtual void do_ctc(std::size_t classes, std::span<const std::uint32_t> active, const std::int32_t* labels, float* logits,
                      LossSum* into) = 0;
  virtual void do_fill(float value, std::size_t count, float* x) = 0;
  virtual void do_copy(std::size_t count, const float* from, float* to) = 0;
  virtual void do_copy_columns(std::size_t rows, std::size_t columns, std::size_t from_width, const float* from,
                               std::size_t to_width, float* to) = 0;
  virtual void do_scale(float factor, std::size_t count, float* x) = 0;
  virtual void do_add(std::size_t count, const float* from, float* to) = 0;
  virtual void do_clamp(float limit, std::size_t count, float* x) = 0;
  virtual void do_limit_row_norms(std::size_t rows, std::size_t columns, float limit, float* w) = 0;
  virtual void do_descend(float rate, float decay, std::size_t count, float* d, float* w) = 0;
  virtual void do_momentum_update(float rate, float momentum, bool nesterov, float decay, std::size_t count, const float* g,
                                  float* v, float* w) = 0;
  virtual void do_adam_update(const AdamStep& step, std::size_t count, const float* g, float* m, float* v, float* w) = 0;
  virtual void do_block_filter(float momentum, float rate, float ahead_before, float ahead, std::size_t count,
                               float* average, float* w, float* delta) = 0;
  virtual void do_look_ahead(float ahead, std::size_t count, const float* w, const float* delta, float* to) = 0;
  virtual void do_moment_filter(double past, double keep, bool of_squares, std::size_t count, float* moment,
                                float* base) = 0;
  virtual void do_quantise(const Quantiser&, std::size_t rows, std::size_t columns, const float* x, float* residual,
                           std::byte* packed) = 0;  // no residual: nullptr
  virtual void do_dequantise(const Quantiser&, std::size_t rows, std::size_t columns, const std::byte* packed, float keep,
                             float* x) = 0;
  virtual void do_select_largest(std::size_t keep, std::size_t count, const float* x, float* residual,
                                 std::byte* packed) = 0;  // no residual: nullptr
  virtual void do_scatter_add(std::size_t pairs, const std::byte* packed, float keep, std::size_t count, float* x) = 0;
  virtual void do_orthonormalise(std::size_t rows, std::size_t rank, float* matrix) = 0;
  virtual void do_add_squared_norm(double weight, std::size_t count, const float* x, double* into) = 0;
  virtual void do_add_squared_distance(double weight, std::size_t count, const float* a, const float* b, double* into) = 0;
  virtual void do_add_dot(double weight, std::size_t count, const float* a, const float* b, double* into) = 0;
  virtual void do_add_softplus_sum(double weight, std::size_t count, const float* x, double* into) = 0;
  virtual void do_sample_bernoulli(const core::RandomStream&, std::span<const std::uint32_t> rows, std::size_t units,
                                   const float* p, float* y) = 0;
  virtual void do_sample_normal(const core::RandomStream&, std::span<const std::uint32_t> rows, std::size_t units,
                                const float* mean, float* y) = 0;

  void count(Kernel kernel, const CallSize& size, const WorkMeter& work);
  void count_product(Kernel kernel, std::uint64_t batch, std::uint64_t inputs, std::uint64_t outputs);
  void count_lstm(Kernel kernel, const LstmShape& shape, std::uint64_t frames, std::uint64_t flops, std::uint64_t accesses);
  void count_streaming(Kernel kernel, std::uint64_t elements, std::uint64_t flops, std::uint64_t accesses);
  void count_coding(Kernel kernel, std::uint64_t elements, std::uint64_t flops, std::uint64_t accesses,
                    std::uint64_t packed_bytes);

  WorkMeter meter_;
  std::shared_ptr<const CallTimes> times_;
  core::Arena number_;  // where squared_norm() finds its own
};

/// Names of the devices this program knows, from backend/catalogue.def.
std::vector<std::string> device_names();

/// Throws ConfigError for an unknown name, and for a device that this build or this machine does not have.
std::unique_ptr<Device> make_device(std::string_view name);

}  // namespace paragrad::backend
