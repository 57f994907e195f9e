#include "pyburn/backends/cpu/fused/product.h"

#include <algorithm>
#include <optional>

#include "pyburn/backends/cpu/conv.h"
#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/derived_cache.h"
#include "pyburn/backends/cpu/file_storage.h"
#include "pyburn/backends/cpu/fused/run.h"
#include "pyburn/backends/cpu/matmul.h"
#include "pyburn/ops/matmul.h"
#include "pyburn/ops/movement.h"

namespace pyburn::cpu {
namespace {

bool is_product(const OpInfo& op) { return &op == &op::bmm || &op == &op::bmm_plus || &op == &op::linear; }

// Images with contiguous channels.
bool is_channels_last(const Layout& l) {
  const Shape& s = l.shape;
  return s.rank() == 4 && l.strides == Dims{s[1] * s[2] * s[3], 1, s[1] * s[3], s[1]};
}

class FusedProduct {
 public:
  FusedProduct(const Fused& a, Inputs in, Outputs out)
      : body_(*a.body), product_(body_.nodes[0]), result_(product_.out[0]), rest_{body_, 1, {}, {}} {
    if (const GraphNode& next = body_.nodes[1]; &next.op.info() == &op::view && next.in[0] == result_) {
      result_ = next.out[0];
      rest_.begin = 2;
    }
    for (ValueId v : product_.in) factors_.add(v < 0 ? absent_ : tensor(v, in));
    choose_memory(in, out);
    describe_rest(in, out);
  }

  FusedProduct(const FusedProduct&) = delete;

  // False: the body does not have this form.
  bool prepare() {
    if (!simple_ || !is_floating_convolution()) return false;
    rest_run_.emplace(rest_, inputs_, Outputs{outputs_.data(), size_t(outputs_.size())}, &seen_.layout());
    return rest_run_->compile(cpu_backend().kernels());
  }

  void run() {
    FusedRun& rest = *rest_run_;
    const int64_t width = row_width();
    const auto piece = [&](int64_t i, int64_t rows, int64_t j, int64_t columns) { rest.run_piece(width, i, rows, j, columns); };
    const Finish finish = rest.reduces() ? Finish() : Finish(piece);
    if (is_product(product_.op.info())) multiply_batches(product_.op.ref(), factors_, memory_, finish);
    else convolve(product_.op.ref(), factors_, memory_, finish);
    if (rest.reduces()) rest.run();
  }

  void pack_weight() const { pack_constant_weight(product_.op.ref(), factors_, memory_); }

  void find_memory() {
    for (const TensorHandle& t : {memory_, seen_}) {
      t.impl()->storage = room().impl()->storage;
      t.impl()->layout.offset = room().layout().offset;
    }
    rest_run_->find_memory();
  }

 private:
  const TensorHandle& tensor(ValueId v, Inputs in) {
    for (size_t i = 0; i < in.size(); ++i)
      if (body_.inputs[i] == v) return *in[i];
    simple_ = false;
    return *in[0];
  }
  bool viewed() const { return result_ != product_.out[0]; }
  bool is_floating_convolution() const { return is_product(product_.op.info()) || is_floating(memory_.dtype()); }
  // Of the result as a matrix in the order of memory.
  int64_t row_width() const {
    const Shape& s = memory_.shape();
    if (is_product(product_.op.info())) return s.back();
    if (!memory_.layout().is_contiguous()) return s[1];
    int64_t plane = 1;
    for (int64_t i = 2; i < s.rank(); ++i) plane *= s[i];
    return plane;
  }

  // Can the result of the product be written there? Requires no holes; channels last only if a convolution supports it.
  bool is_dense(const Layout& l) const {
    return l.is_contiguous() || (!viewed() && !is_product(product_.op.info()) && is_channels_last(l));
  }

  // The memory of an output, if usable: of the product itself, or of a result that replaces it. No input may alias it.
  void choose_memory(Inputs in, Outputs out) {
    const Meta &made = body_.values[size_t(product_.out[0])], &seen = body_.values[size_t(result_)];
    Layout as_seen = contiguous_layout(seen.shape);
    for (size_t k = 0; k < out.size(); ++k) {
      bool fits = out[k].dtype() == made.dtype && out[k].shape() == seen.shape && is_dense(out[k].layout());
      for (const TensorHandle* t : in) fits &= !overlap(*t, out[k]);
      if (fits && (!chosen_ || body_.outputs[k] == result_)) chosen_ = &out[k], as_seen = out[k].layout();
    }
    if (!chosen_) {
      scratch_ = scratch(in[0]->device(), seen.shape, made.dtype);
      const bool follows = out[0].shape() == seen.shape && is_dense(out[0].layout());  // the order in which the rest is computed
      if (follows) as_seen.strides = out[0].layout().strides;
    }
    Layout as_made = viewed() ? contiguous_layout(made.shape) : as_seen;
    as_made.offset = as_seen.offset = room().layout().offset;
    memory_ = make_tensor(room().device(), made.dtype, as_made, room().impl()->storage);
    seen_ = make_tensor(room().device(), made.dtype, as_seen, room().impl()->storage);
  }
  const TensorHandle& room() const { return chosen_ ? *chosen_ : scratch_; }

  void describe_rest(Inputs in, Outputs out) {
    const auto reads = [&](ValueId v) {
      const auto nodes = rest_.nodes();
      return std::any_of(
          nodes.begin(), nodes.end(), [&](const GraphNode& n) { return std::find(n.in.begin(), n.in.end(), v) != n.in.end(); });
    };
    rest_.inputs.push_back(result_);
    inputs_.add(seen_);
    for (size_t i = 0; i < in.size(); ++i) {
      if (!reads(body_.inputs[i])) continue;
      rest_.inputs.push_back(body_.inputs[i]);
      inputs_.add(*in[i]);
    }
    simple_ &= !viewed() || !reads(product_.out[0]);
    for (size_t k = 0; k < out.size(); ++k) {
      simple_ &= !viewed() || body_.outputs[k] != product_.out[0];
      if (body_.outputs[k] == result_ && overlap(out[k], seen_)) continue;  // it is there
      rest_.outputs.push_back(body_.outputs[k]);
      outputs_.push_back(out[k]);
    }
    simple_ &= !rest_.nodes().empty() && !outputs_.empty();
  }

  const Graph& body_;
  const GraphNode& product_;
  ValueId result_;  // as the rest sees it
  Section rest_;
  bool simple_ = true;
  const TensorHandle absent_;
  InputList factors_, inputs_;
  Tensors outputs_;
  const TensorHandle* chosen_ = nullptr;  // the output whose memory holds the product; null: scratch_
  TensorHandle scratch_, memory_, seen_;  // the last two are one memory, in the shape of the product and in that of the rest
  std::optional<FusedRun> rest_run_;
};

class PreparedProduct final : public PreparedCall {
 public:
  PreparedProduct(const Fused& a, Inputs in, Outputs out) : body_(a.body), product_(a, in, out) {}
  bool prepare() {
    if (!product_.prepare()) return false;
    product_.pack_weight();
    return true;
  }
  void run() override {
    product_.find_memory();
    product_.run();
  }

 private:
  const Ref<Graph> body_;
  FusedProduct product_;
};

}  // namespace

void pack_constant_weight(OpRef op, Inputs in, const TensorHandle& y) {
  if (op.info != &op::linear && !is_convolution(*op.info)) return;
  const TensorHandle& weight = *in[1];
  if (!weight.storage() || weight.storage()->exposed) return;  // not a constant
  op.info == &op::linear ? pack_linear_weight(weight) : pack_convolution_weight(op, in, y);
  if (is_anything_kept(weight)) release_file_pages(weight);
}

bool begins_with_product(const Graph& body) {
  return body.nodes.size() > 1 && (is_product(body.nodes[0].op.info()) || is_convolution(body.nodes[0].op.info()));
}

bool run_product(const Fused& a, Inputs in, Outputs out) {
  FusedProduct product(a, in, out);
  if (!product.prepare()) return false;
  product.run();
  return true;
}

Ref<PreparedCall> prepare_product(const Fused& a, Inputs in, Outputs out) {
  Ref<PreparedProduct> product = make_ref<PreparedProduct>(a, in, out);
  if (!product->prepare()) return nullptr;
  return Ref<PreparedCall>(product.get());
}

}  // namespace pyburn::cpu
