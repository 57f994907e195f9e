// softmax(scale * q @ k.T + mask) @ v, written out, becomes `attention`, which does not store the scores. For short sequences the products
// are as fast, and stay.
#include <cmath>
#include <optional>

#include "pyburn/graph/graph_editor.h"
#include "pyburn/graph/passes.h"
#include "pyburn/ops/attention.h"
#include "pyburn/ops/binary.h"
#include "pyburn/ops/matmul.h"
#include "pyburn/ops/movement.h"
#include "pyburn/ops/softmax.h"
#include "pyburn/runtime/door_ops.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/checked.h"

namespace pyburn {
namespace {

constexpr int64_t kManyScores = int64_t(1) << 18;  // of a head: 512 tokens that see each other

class Finder {
 public:
  Finder(GraphEditor& editor, int32_t softmax) : editor_(editor), softmax_(softmax) {}

  bool replace() {
    const GraphNode& n = editor_.node(softmax_);
    if (n.writes || editor_.meta(n.out[0]).dtype != DType::float32 || !(editor_.meta(n.in[0]) == editor_.meta(n.out[0]))) return false;
    const Shape scores = editor_.meta(n.in[0]).shape;
    if (scores.rank() != 4 || n.op.ref().as<Softmax>().dim != 3 || Checked(scores[2]) * scores[3] < kManyScores) return false;
    return find_values(n.out[0], scores) && find_scores(n.in[0]) && find_keys(scores) && insert(scores);
  }

 private:
  // The node that makes v, if it is one of this kind whose result serves nothing else.
  const GraphNode* only(ValueId v, const OpInfo& op) const {
    const int32_t i = editor_.maker(v);
    if (i < 0 || editor_.is_erased(i) || &editor_.node(i).op.info() != &op || editor_.node(i).writes) return nullptr;
    return editor_.only_user(v) < 0 || editor_.may_be_written(v) ? nullptr : &editor_.node(i);
  }
  bool is_free(ValueId v) const { return v >= 0 && !editor_.may_be_written(v); }
  // The value of four axes that v is with the first two joined; -1: something else.
  ValueId apart(ValueId v, const Shape& scores) const {
    const int32_t i = editor_.maker(v);
    if (i < 0 || (&editor_.node(i).op.info() != &op::reshape && &editor_.node(i).op.info() != &op::view)) return -1;
    const ValueId from = editor_.node(i).in[0];
    const Shape &s = editor_.meta(from).shape, &joined = editor_.meta(v).shape;
    const bool fits =
        s.rank() == 4 && joined.rank() == 3 && s[0] == scores[0] && s[1] == scores[1] && s[2] == joined[1] && s[3] == joined[2];
    return fits && is_free(from) && is_free(v) ? from : -1;
  }

  // The product behind the softmax, and its result with four axes.
  bool find_values(ValueId shares, const Shape& scores) {
    int32_t i = editor_.only_user(shares);
    if (i < 0 || (&editor_.node(i).op.info() != &op::reshape && &editor_.node(i).op.info() != &op::view)) return false;
    const ValueId joined = editor_.node(i).out[0];
    product_ = editor_.only_user(joined);
    if (product_ < 0 || &editor_.node(product_).op.info() != &op::bmm || editor_.node(product_).in[0] != joined) return false;
    value_ = apart(editor_.node(product_).in[1], scores);
    i = editor_.only_user(editor_.node(product_).out[0]);
    if (value_ < 0 || i < 0 || (&editor_.node(i).op.info() != &op::reshape && &editor_.node(i).op.info() != &op::view)) return false;
    result_ = editor_.node(i).out[0];
    const Shape& s = editor_.meta(result_).shape;
    return s == Shape{scores[0], scores[1], scores[2], editor_.meta(value_).shape[3]} && is_free(result_) && is_free(shares);
  }

  // The element of a constant that has one, behind views.
  std::optional<double> number_of(ValueId v) const {
    while (!editor_.constant(v) && editor_.maker(v) >= 0 && editor_.node(editor_.maker(v)).op.info().kind == Kind::view)
      v = editor_.node(editor_.maker(v)).in[0];
    const TensorHandle* t = editor_.constant(v);
    if (!t || t->numel() != 1 || t->dtype() != DType::float32 || editor_.may_be_written(v)) return {};
    float element = 0;
    to_host(*t, {&element, t->meta()});
    return element;
  }
  // What a product or a quotient scales v by; v becomes what is scaled.
  std::optional<double> scale_of(const GraphNode& n, ValueId& v) const {
    const Binary& a = n.op.ref().as<Binary>();
    const bool divides = &n.op.info() == &op::div;
    if (a.scalar != Side::none) {
      if (divides && a.scalar == Side::left) return {};
      v = n.in[0];
      return divides ? 1 / a.value.to_double() : a.value.to_double();
    }
    for (int64_t k = divides ? 1 : 0; k < 2; ++k)
      if (const std::optional<double> number = number_of(n.in[k])) {
        v = n.in[1 - k];
        return divides ? 1 / *number : *number;
      }
    return {};
  }

  // Backwards from the softmax: a mask, then a scale, then the product of queries and keys.
  bool find_scores(ValueId v) {
    if (const GraphNode* n = only(v, op::add)) {
      const Additive& a = n->op.ref().as<Additive>();
      if (a.scalar != Side::none || a.alpha.to_double() != 1) return false;
      for (int64_t k = 0; k < 2; ++k)
        if (is_free(n->in[1 - k]) && editor_.meta(n->in[1 - k]).dtype == DType::float32 && find_product(n->in[k])) {
          mask_ = n->in[1 - k];
          return true;
        }
      return false;
    }
    if (const GraphNode* n = only(v, op::where)) {
      const Where& w = n->op.ref().as<Where>();
      if (!is_free(n->in[0]) || editor_.meta(n->in[0]).dtype != DType::boolean || w.scalar == Side::both) return false;
      mask_ = n->in[0];
      const bool is_number = w.scalar != Side::none && w.value.to_double() == -INFINITY;
      const auto is_hidden = [&](ValueId other) { return number_of(other).value_or(0) == -INFINITY; };
      if (w.scalar == Side::right) return is_number && find_product(n->in[1]);
      if (w.scalar == Side::none && is_hidden(n->in[2])) return find_product(n->in[1]);
      mask_hides_ = true;
      return (is_number || (w.scalar == Side::none && is_hidden(n->in[1]))) && find_product(n->in.back());
    }
    return find_product(v);
  }
  bool find_product(ValueId v) {
    for (const OpInfo* op : {&op::mul, &op::div})
      if (const GraphNode* n = only(v, *op)) {
        const std::optional<double> scale = scale_of(*n, v);
        if (!scale) return false;
        scale_ = *scale;
        break;
      }
    const GraphNode* apart_again = only(v, op::reshape);
    if (!apart_again) apart_again = only(v, op::view);
    const GraphNode* product = apart_again ? only(apart_again->in[0], op::bmm) : nullptr;
    if (!product) return false;
    queries_ = product->in[0], keys_ = product->in[1];
    return true;
  }
  bool find_keys(const Shape& scores) {
    queries_ = apart(queries_, scores), keys_ = apart(keys_, scores);
    return queries_ >= 0 && keys_ >= 0;
  }

  // Before it is stretched, where that is known.
  ValueId negated(ValueId mask) {
    const Binary is_false{Side::right, false};
    const int32_t maker = editor_.maker(mask);
    const GraphNode* stretch = maker >= 0 && &editor_.node(maker).op.info() == &op::expand ? &editor_.node(maker) : nullptr;
    if (stretch && (!stretch->patches.empty() || !is_free(stretch->in[0]))) stretch = nullptr;
    const ValueId from = stretch ? stretch->in[0] : mask;
    const Operation expand = stretch ? stretch->op : Operation();
    const ValueId v = editor_.insert_before(product_, Operation(OpRef{&op::eq, &is_false}), {from}, editor_.meta(from));
    return stretch ? editor_.insert_before(product_, expand, {v}, editor_.meta(mask)) : v;
  }

  bool insert(const Shape& scores) {
    if (mask_ >= 0 && !(editor_.meta(mask_).shape == scores)) return false;
    const DType dtype = DType::float32;
    for (ValueId v : {queries_, keys_, value_})
      if (editor_.meta(v).dtype != dtype) return false;
    const Shape k = editor_.meta(keys_).shape;
    const Permute turn{{0, 1, 3, 2}};
    const ValueId turned =
        editor_.insert_before(product_, Operation(OpRef{&op::permute, &turn}), {keys_}, Meta{Shape{k[0], k[1], k[3], k[2]}, dtype});
    if (mask_hides_) mask_ = negated(mask_);
    const Attention attrs{false, scale_};
    const Meta metas[] = {editor_.meta(result_), {Shape{scores[0], scores[1], scores[2]}, dtype}};
    const ValueId made =
        editor_.insert_before(product_, Operation(OpRef{&op::attention, &attrs}), {queries_, turned, value_, mask_}, metas);
    editor_.replace(result_, made);
    return true;
  }

  GraphEditor& editor_;
  const int32_t softmax_;
  int32_t product_ = -1;
  ValueId queries_ = -1, keys_ = -1, value_ = -1, mask_ = -1, result_ = -1;
  bool mask_hides_ = false;  // true: not seen
  double scale_ = 1;
};

}  // namespace

Ref<Graph> recognise_attention(const Graph& g) {
  GraphEditor editor(g);
  for (int32_t i = 0; i < editor.nodes(); ++i)
    if (&editor.node(i).op.info() == &op::softmax) Finder(editor, i).replace();
  return editor.finish();
}

}  // namespace pyburn
