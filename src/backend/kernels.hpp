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
  double free_energy = 0;  ///< for models that have one

  LossSum& operator+=(const LossSum& other) {
    loss += other.loss;
    errors += other.errors;
    free_energy += other.free_energy;
    return *this;
  }
};

/// The constants of step t of Adam (Kingma and Ba, ICLR 2015).
struct AdamStep {
  double rate = 0;    ///< α/(1 - β1^t)
  double beta1 = 0;   ///< decay of the mean gradient
  double beta2 = 0;   ///< decay of the mean square
  double unbias = 1;  ///< 1/(1 - β2^t)
  double epsilon = 0;
  double gradient_scale = 1;  ///< factor that turns the summed gradient into a mean
  double decay = 0;           ///< decay·w is added to that mean
  double shrink = 0;          ///< shrink·w is subtracted from w, bypassing the moments (AdamW)
};

/// Dense mathematics on flat float32 arrays of one device. Matrices are row-major without padding; a batch is
/// [batch][features]. Shapes are checked by the caller (a mismatch is a logic_error).
///
/// Memory. All spans and pointers are device memory, except `active` (lengths of sequences), which the host reads. is_host()
/// tells whether the host can access a device's memory; transfer() copies between the two.
///
/// Order. A device executes calls in order, possibly asynchronously: the host may read results only after finish() or
/// through transfer(), and the memory used by a call must stay valid until then. Results stay on the device: sums are added
/// to a location in its memory.
///
/// The public functions add their work to `meter` and call the body, so every device, including the one without arithmetic
/// (meta), counts the same flops and bytes.
///
/// One object per worker; calls on one object must not overlap. Given the same inputs, a device returns the same bits on
/// every call, from any thread.
class Device {
 public:
  virtual ~Device() = default;

  virtual std::string_view name() const = 0;
  /// Allocates zeros; see device_array.hpp for other types. May be called from any thread, concurrently with other calls.
  virtual core::Arena allocate(std::size_t count) const = 0;

  /// Whether the host can access this device's memory directly.
  virtual bool is_host() const { return true; }

  /// Whether an address is memory of a device of this kind that the host cannot access.
  virtual bool is_isolated(const void* /*address*/) const { return false; }

  /// Whether that memory is CUDA memory, which some communication libraries can access.
  virtual bool is_cuda() const { return false; }

  /// Vendor, model and memory of a device other than the host's CPU: "NVIDIA H200, 151 GB".
  virtual std::string hardware() const { return ""; }

  /// Host memory with the fastest transfer() (pinned, for a GPU); content undefined.
  virtual core::Arena allocate_on_host(std::size_t count) const { return core::host_arena(count); }

  /// to = from, each in memory of a device of this kind or of the host; runs after all earlier calls and is complete on
  /// return. Not counted as work. Memory without content (meta) is neither read nor written.
  template <class T>
  void transfer(std::span<const T> from, std::span<T> to) {
    transfer_bytes(std::as_bytes(from), std::as_writable_bytes(to));
  }

  /// to = from (host memory), in call order like a kernel. `from` is read before the call returns. Not counted either.
  template <class T>
  void upload(std::span<const T> from, std::span<T> to) {
    upload_bytes(std::as_bytes(from), std::as_writable_bytes(to));
  }

  /// features[i][width] = the decoded numbers of `stored`[frames][frame_dim] from frame windows[i] on; a window may span
  /// several frames. In call order. Not counted: for timing, a worker's samples are already on the device.
  void decode(const core::Encoding& encoding, std::size_t frame_dim, std::span<const std::byte> stored,
              std::span<const std::uint32_t> windows, std::span<float> features);

  /// A copy stream into this device's memory for use by another thread, valid while the device lives. Throws logic_error if
  /// the memory is the host's, where none is needed.
  virtual std::unique_ptr<CopyStream> make_copy_stream();

  /// Sums arrays over the devices of several processes without going through their hosts. Throws ConfigError if the device
  /// does not support it.
  virtual std::unique_ptr<DeviceAllreduce> make_allreduce();

  /// Starts any deferred calls, for example at the end of a minibatch, which the next one probably repeats. A device may
  /// defer calls until here.
  virtual void submit() {}

  /// Returns when all earlier calls are complete.
  virtual void finish() {}

  /// False for a device without arithmetic and memory (meta): kernels are only counted, losses are 0, and allocate() returns
  /// addresses without content.
  virtual bool computes() const { return true; }

  const WorkMeter& meter() const { return meter_; }

  /// From now on `meter` also adds up the time that `times` gives for each call; nullptr: no times.
  void charge_by(std::shared_ptr<const CallTimes> times) { times_ = std::move(times); }
  const std::shared_ptr<const CallTimes>& call_times() const { return times_; }

  /// C[m][n] = A·B + keep·C, where A is [m][k] (or [k][m] when transposed) and B is [k][n] (or [n][k]).
  /// keep = 0 overwrites C, whatever its content (even NaN).
  void gemm(Transpose transpose_a, Transpose transpose_b, std::size_t m, std::size_t n, std::size_t k,
            std::span<const float> a, std::span<const float> b, float keep, std::span<float> c);

  /// y[batch][out] = f(x[batch][in] · w[in][out] + bias[out])
  void affine_forward(std::size_t batch, std::size_t in, std::size_t out, std::span<const float> x, std::span<const float> w,
                      std::span<const float> bias, Activation f, std::span<float> y);

  /// dx[batch][in] = (dz[batch][out] · wᵀ) ∘ f'(x), where x[batch][in] is the output of the layer below and f its
  /// activation.
  void affine_backward_input(std::size_t batch, std::size_t in, std::size_t out, std::span<const float> dz,
                             std::span<const float> w, std::span<const float> x, Activation f, std::span<float> dx);

  /// dw[rows][out] = keep·dw + (xᵀ·dz)[first_row … first_row+rows), with x[batch][in] and dz[batch][out]: a panel of the
  /// gradient of w[in][out]. The bits of a row do not depend on the panel in which it is computed.
  void affine_backward_weights(std::size_t batch, std::size_t in, std::size_t out, std::size_t first_row, std::size_t rows,
                               std::span<const float> x, std::span<const float> dz, float keep, std::span<float> dw);

  /// The local step of a layer's weights in one kernel: affine_backward_weights of all rows into d[in][out], then
  /// descend(rate, decay, d, w). Counts the same work and gives the same bits as the two calls, but d and w[in][out] pass
  /// through the cache only once, overlapped with the arithmetic.
  void affine_descend(std::size_t batch, std::size_t in, std::size_t out, std::span<const float> x,
                      std::span<const float> dz, float keep, float rate, float decay, std::span<float> d,
                      std::span<float> w);

  /// x[batch][in] = f(y[batch][out] · w[in][out]ᵀ + bias[in]): affine_forward with transposed weights.
  void affine_reverse(std::size_t batch, std::size_t in, std::size_t out, std::span<const float> y, std::span<const float> w,
                      std::span<const float> bias, Activation f, std::span<float> x);

  /// Long short-term memory, see backend/lstm_arguments.hpp, over sequences laid out as in Steps. gates hold z on entry;
  /// fills gates, cells, hidden and y[frames][directions][R]. A row's values do not depend on the other sequences.
  void lstm_forward(const LstmShape& shape, std::span<const std::uint32_t> active, const LstmWeights& weights,
                    const LstmMemory& memory, std::span<float> y);

  /// Backpropagation through time. dy holds the gradient with respect to y on entry, and on return also includes the
  /// contributions of later steps; gates hold the gradient with respect to z on return.
  void lstm_backward(const LstmShape& shape, std::span<const std::uint32_t> active, const LstmWeights& weights,
                     const LstmMemory& memory, std::span<float> dy);

  /// gradients = keep·gradients + the gradient of the weights, from y and from memory and dy after the backward pass.
  void lstm_gradient(const LstmShape& shape, std::span<const std::uint32_t> active, std::span<const float> y,
                     const LstmMemory& memory, std::span<const float> dy, float keep, const LstmGradients& gradients);

  /// dbias[out] = keep·dbias + Σ over the batch of dz[batch][out]
  void bias_gradient(std::size_t batch, std::size_t out, std::span<const float> dz, float keep, std::span<float> dbias);

  /// dz ∘= f'(y): for a last layer with an activation function.
  void activation_backward(Activation f, std::span<const float> y, std::span<float> dz);

  /// *into += softmax cross-entropy, -Σ log p[label]. Overwrites logits[batch][classes] with its gradient p - onehot(label).
  /// A row with label -1 has no loss, no error and a zero gradient, here and below.
  void softmax_cross_entropy(std::size_t batch, std::size_t classes, std::span<const std::int32_t> labels,
                             std::span<float> logits, LossSum* into);

  /// *into += squared error against one-hot targets, ½ Σ (y - onehot)². Overwrites y[batch][classes] with its gradient
  /// y - onehot.
  void squared_error(std::size_t batch, std::size_t classes, std::span<const std::int32_t> labels, std::span<float> y,
                     LossSum* into);

  /// Connectionist temporal classification (Graves, Fernández, Gomez and Schmidhuber, ICML 2006) of sequences laid out as in
  /// Steps: *into += -Σ log p(labels), where p is the sum over all paths (one class per frame) that give the labels after
  /// merging equal neighbours and removing blanks (the last class). labels[frames]: the labels of a sequence in the
  /// positions of its first frames, -1 in the others. Overwrites logits[frames][classes] with the gradient.
  ///
  /// errors: substitutions, insertions and deletions against the best path (the largest output of each frame).
  /// Labels that need more frames than available (one each, and one between equal neighbours) have an infinite loss and a
  /// zero gradient. Computed in logarithms, in double. The counted work excludes the labels, which a device that does not
  /// compute cannot know.
  void ctc(std::size_t classes, std::span<const std::uint32_t> active, std::span<const std::int32_t> labels,
           std::span<float> logits, LossSum* into);

  void fill(float value, std::span<float> x);
  void copy(std::span<const float> from, std::span<float> to);

  /// to[r][c] = from[r][c] for `columns` columns; the rows of the two matrices may be longer: from_width and to_width
  /// elements. Other elements are left unchanged.
  void copy_columns(std::size_t rows, std::size_t columns, std::size_t from_width, std::span<const float> from,
                    std::size_t to_width, std::span<float> to);

  void scale(float factor, std::span<float> x);                ///< x *= factor
  void add(std::span<const float> from, std::span<float> to);  ///< to += from

  /// Clamps every element to ±limit; NaN stays NaN.
  void clamp(float limit, std::span<float> x);

  /// Scales each row of w, [columns][rows] as in core::Matrix, to norm `limit` if its norm is larger; squares are summed in
  /// double, in the order of the columns.
  void limit_row_norms(std::size_t rows, std::size_t columns, float limit, std::span<float> w);

  /// d += decay·w; w -= rate·d. Plain SGD if d is the gradient; momentum if the backward pass has accumulated the gradient
  /// into d with keep = momentum. decay = 0 leaves d unchanged.
  void descend(float rate, float decay, std::span<float> d, std::span<float> w);

  /// g += decay·w; v = momentum·v + g; w -= rate·(nesterov ? g + momentum·v : v). g in memory is not modified.
  void momentum_update(float rate, float momentum, bool nesterov, float decay, std::span<const float> g, std::span<float> v,
                       std::span<float> w);

  /// d = gradient_scale·g + decay·w;  m = β1·m + (1-β1)·d;  v = β2·v + (1-β2)·d²;
  /// w -= shrink·w + rate·m/(√(unbias·v) + ε). g in memory is not modified.
  void adam_update(const AdamStep& step, std::span<const float> g, std::span<float> m, std::span<float> v,
                   std::span<float> w);

  /// Blockwise model-update filtering (Chen and Huo, ICASSP 2016), in place on one range of the model:
  ///   delta = momentum·delta + rate·(average - base);  w += delta;  average = w + ahead·delta
  /// where base = w + ahead_before·delta_before is the workers' starting point. `average` holds the mean of the local models
  /// on entry and the next starting point on return. ahead = 0 for classical, = momentum for Nesterov block momentum.
  void block_filter(float momentum, float rate, float ahead_before, float ahead, std::span<float> average,
                    std::span<float> w, std::span<float> delta);

  /// to = w + ahead·delta, with the same bits as block_filter's result.
  void look_ahead(float ahead, std::span<const float> w, std::span<const float> delta, std::span<float> to);

  /// Rescales an exponential mean that went from `base` to `moment` with total decay `past`, to total decay `keep`:
  ///   estimate = (moment - past·base)/(1 - past);  moment = base = keep·base + (1 - keep)·estimate
  /// of_squares: the estimate is clamped to at least 0 against rounding.
  void moment_filter(double past, double keep, bool of_squares, std::span<float> moment, std::span<float> base);

  /// u = x + residual; packed = code(u), column by column; residual = u - decoded(packed). With an empty residual u = x and
  /// the error is dropped. x is [columns][rows], each column contiguous; packed is [packed_bytes(rows, columns)], laid out
  /// as in backend/quantiser.hpp.
  void quantise(const Quantiser& quantiser, std::size_t rows, std::size_t columns, std::span<const float> x,
                std::span<float> residual, std::span<std::byte> packed);

  /// x = keep·x + decoded(packed); keep is 0 (x is not read) or 1.
  void dequantise(const Quantiser& quantiser, std::size_t rows, std::size_t columns, std::span<const std::byte> packed,
                  float keep, std::span<float> x);

  /// u = x + residual; packed = the `keep` elements of u with the largest |u| (ties: lowest index first; NaN counts as
  /// largest), as pairs {uint32 index, float value} with ascending indices; residual = u with those set to 0. With an empty
  /// residual u = x and the other elements are dropped. packed has 8·keep bytes.
  void select_largest(std::size_t keep, std::span<const float> x, std::span<float> residual, std::span<std::byte> packed);

  /// x = keep·x with keep 0 (x is not read) or 1; then x[index] += value for each pair of packed. Indices must ascend, as
  /// written by select_largest, so none is repeated and the pairs may be added in parallel.
  void scatter_add(std::span<const std::byte> packed, float keep, std::span<float> x);

  /// Makes the columns of a matrix [rows][rank] orthonormal, in place: modified Gram-Schmidt with each column orthogonalised
  /// twice against the previous ones (once is inaccurate for nearly parallel columns; L. Giraud et al., Comput. Math. Appl.
  /// 50(7), 2005). A column with a remainder below 1e-5 becomes 0.
  void orthonormalise(std::size_t rows, std::size_t rank, std::span<float> matrix);

  /// *into += weight·Σ x², summed in double in an order that depends on the length alone.
  void add_squared_norm(double weight, std::span<const float> x, double* into);

  /// The same for Σ (a - b)² and Σ a·b, in the same order.
  void add_squared_distance(double weight, std::span<const float> a, std::span<const float> b, double* into);
  void add_dot(double weight, std::span<const float> a, std::span<const float> b, double* into);

  /// The same for Σ log(1 + e^x); each term is accurate to 2e-7, relative or absolute.
  void add_softplus_sum(double weight, std::span<const float> x, double* into);

  /// Σ x² for the host, which waits for it. 0 on a device without arithmetic.
  double squared_norm(std::span<const float> x);

  /// y[rows][units] = 1 with probability p[rows][units], else 0: [uniform < p]. A uniform number depends on the stream, on
  /// rows[i] and on the unit alone (backend/random_numbers.hpp), so given p all devices give the same bits. p = NaN gives 0.
  void sample_bernoulli(const core::RandomStream& random, std::span<const std::uint32_t> rows, std::size_t units,
                        std::span<const float> p, std::span<float> y);

  /// y[rows][units] = mean[rows][units] + a standard normal number, keyed in the same way.
  void sample_normal(const core::RandomStream& random, std::span<const std::uint32_t> rows, std::size_t units,
                     std::span<const float> mean, std::span<float> y);

  /// Counts a call of `kernel` without making it, for a layer described only by its costs. flops and bytes are given
  /// explicitly, because a convolution is a product that reads its input fewer times. Throws logic_error on a device that
  /// computes.
  void imagine(Kernel kernel, const CallSize& size, std::uint64_t flops, std::uint64_t bytes);

 private:
  void transfer_bytes(std::span<const std::byte> from, std::span<std::byte> to);
  void upload_bytes(std::span<const std::byte> from, std::span<std::byte> to);

  // The bodies, in the order of the public functions.
  virtual void do_transfer(std::size_t bytes, const std::byte* from, std::byte* to);  // default: both are host memory
  virtual void do_upload(std::size_t bytes, const std::byte* from, std::byte* to) { do_transfer(bytes, from, to); }
  virtual void do_decode(const core::Encoding&, std::size_t frame_dim, std::span<const std::byte> stored,
                         std::span<const std::uint32_t> windows, std::size_t width,
                         float* features);  // default: host memory
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
  core::Arena number_;  // the result of squared_norm()
};

/// Names of the devices this program knows, from backend/catalogue.def.
std::vector<std::string> device_names();

/// Throws ConfigError for an unknown name and for a device that this build or machine does not support.
std::unique_ptr<Device> make_device(std::string_view name);

}  // namespace paragrad::backend
