// Products over named or listed axes, written as batches of matrix products.
#include "pyburn/ops/generated/einsum.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/rules.h"
#include "pyburn/support/checked.h"

namespace pyburn {
namespace {

constinit FunctionInfo functions[] = {
    {.schema = "einsum(str equation, Tensor[] operands) -> Tensor",
        .doc = "Sums products of the operands along dimensions named by letters (Einstein summation).",
        .example = "pyburn.einsum('ij,jk->ik', pyburn.ones(2, 3), pyburn.ones(3, 4)).shape",
        .samples = R"(
'ij,jk->ik', [t(2, 3), t(3, 4)]
'ij,jk', [t(2, 3), t(3, 4)]
'ij->ji', [t(2, 3)]
'ii->i', [t(3, 3)]
'ii', [t(3, 3)]
'iij->j', [t(2, 2, 3)]
'aba->b', [t(2, 3, 2)]
'ij->', [t(2, 3)]
',->', [t(), t()]
'i,j->ij', [t(2), t(3)]
'bij, bjk -> bik', [t(2, 2, 3), t(2, 3, 2)]
'...ij,...jk->...ik', [t(2, 1, 2, 3), t(3, 3, 2)]
'...ij->...ji', [t(2, 2, 3)]
'i...,i...->...', [t(3, 2), t(3, 2)]
'i...->i', [t(3, 2)]
'bn,anm,bm->ba', [t(2, 3), t(2, 3, 4), t(2, 4)]
'ij,ij->ij', [t(2, 3), t(2, 3)]
'ij,ij->j', [t(2, 3), t(1, 3)]
'ij,jk->ik', [t(2, 1), t(3, 4)]
'ij,jk->ik', [t(0, 3), t(3, 4)]
'ij,jk->ik', [t(3, 2).T, t(4, 3).T]
'ij,jk->ik', [t(1, 3).expand(2, 3), t(3, 4)]
'Ab,bA', [t(2, 3), t(3, 2)]
'ij,jk->ik', [t(2, 3, dtype=i64), t(3, 4, dtype=i64)]
'ij,jk', [t(2, 3)] ! operands
'ij', [t(2, 3, 4)] ! subscripts
'ij->ijk', [t(2, 3)] ! output
'ij->ii', [t(2, 3)] ! repeated
'ij,jk', [t(2, 3), t(4, 5)] ! sizes
'i1', [t(2, 3)] ! letters)"},
    {.schema = "tensordot(Tensor a, Tensor b, int[] dims_a, int[] dims_b) -> Tensor",
        .doc = "Contracts the dimensions dims_a of a with the dimensions dims_b of b.",
        .torch = "lambda a, b, *dims: torch.tensordot(a, b, dims if len(dims) > 1 else dims[0])",
        .example = "pyburn.tensordot(pyburn.ones(2, 3), pyburn.ones(3, 4), 1).shape",
        .samples = R"(
t(2, 3), t(3, 4), (1,), (0,)
t(2, 3, 4), t(4, 3), (1, 2), (1, 0)
t(2, 3), t(3, 4), (-1,), (-2,)
t(2), t(3), (), ()
t(), t(3), (), ()
t(0, 3), t(3, 2), (1,), (0,)
t(3, 2).T, t(3, 4), (1,), (0,)
t(1, 3).expand(2, 3), t(3, 4), (1,), (0,)
t(2, 3), t(3, 4), (1,), (0, 1) ! same number
t(2, 3), t(3, 4), (0,), (0,) ! sizes)",
        .out = true},
    {.schema = "kron(Tensor input, Tensor other) -> Tensor",
        .doc = "Computes the Kronecker product of input and other.",
        .example = "pyburn.kron(pyburn.tensor([1., 2.]), pyburn.tensor([1., 10.]))",
        .samples = "t(2, 3), t(2, 2)\nt(3), t(2)\nt(2), t(2, 3)\nt(2, 1, 2), t(3)\nt(), t(3)\nt(0, 2), t(2, 2)\nt(6)[::2], t(2)\n"
                   "t(1, 3).expand(2, 3), t(2)\nt(2, dtype=i64), t(3, dtype=i64)\n'text', t(2) ! Tensor",
        .out = true},
    {.schema = "chain_matmul(Tensor[] matrices) -> Tensor",
        .doc = "Multiplies several matrices in the order that needs the fewest operations.",
        .torch = "lambda matrices: torch.chain_matmul(*matrices)",
        .example = "pyburn.chain_matmul(pyburn.ones(2, 3), pyburn.ones(3, 4), pyburn.ones(4, 1)).shape",
        .samples = R"(
[t(2, 3), t(3, 4)]
[t(2, 3)]
[t(5, 2), t(2, 4), t(4, 1), t(1, 3)]
[t(0, 3), t(3, 2), t(2, 2)]
[t(3, 2).T, t(3, 4)]
[t(1, 3).expand(2, 3), t(3, 4)]
[t(), t(3, 4)] ! matrices
[t(2, 3), t(4, 5)] ! inner dimensions differ)",
        .out = true},
    {.schema = "linalg_multi_dot(Tensor[] tensors) -> Tensor",
        .doc = "Multiplies several matrices in the order that needs the fewest operations; the first and the last may be vectors.",
        .torch = "torch.linalg.multi_dot",
        .example = "pyburn.linalg_multi_dot([pyburn.ones(2), pyburn.ones(2, 3), pyburn.ones(3)])",
        .samples = R"(
[t(2, 3), t(3, 4)]
[t(3), t(3, 4), t(4, 2)]
[t(2, 3), t(3, 4), t(4)]
[t(3), t(3, 4), t(4)]
[t(0, 3), t(3, 2), t(2, 2)]
[t(3, 2).T, t(3, 4)]
[t(1, 3).expand(2, 3), t(3, 4)]
[t(), t(3, 4)] ! matrices
[t(2, 3)] ! at least two)",
        .out = true},
    {.schema = "cross(Tensor input, Tensor other, int? dim=None) -> Tensor",
        .doc = "Computes cross products along dim, which must have size 3 (by default the first such dimension).",
        .example = "pyburn.cross(pyburn.tensor([1., 0., 0.]), pyburn.tensor([0., 1., 0.]))",
        .samples = R"(
t(3), t(3)
t(2, 3), t(2, 3)
t(3, 3), t(3, 3), 1
t(2, 3, 3), t(1, 1, 3), dim=-1
t(0, 3), t(0, 3)
t(3, 2).T, t(2, 3)
t(1, 3).expand(2, 3), t(2, 3)
t(2, 3, dtype=i64), t(2, 3, dtype=i64)
t(), t() ! size 3
t(2, 4), t(2, 4) ! size 3
t(2, 3), t(3) ! same number of dimensions)",
        .out = true},
};

using Labels = std::vector<int>;  // of the axes of a tensor: a letter, or from kEllipsis on the axes of "...", counted from the right
constexpr int kEllipsis = 256;

bool has(const Labels& labels, int label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }
int64_t axis_of(const Labels& labels, int label) { return std::find(labels.begin(), labels.end(), label) - labels.begin(); }

struct Term {
  TensorHandle value;
  Labels labels;  // no two are equal

  int64_t extent(int label) const { return value.shape()[axis_of(labels, label)]; }
  void sum_out(int label) {
    value = sum(value, Dims{axis_of(labels, label)}, false, value.dtype());
    std::erase(labels, label);
  }
  void drop(int label) {
    value = remove_axis(value, axis_of(labels, label));
    std::erase(labels, label);
  }
  TensorHandle ordered(const Labels& order) const {
    Dims dims;
    for (int label : order) dims.push_back(axis_of(labels, label));
    return permute(value, dims);
  }
};

// Combines dimensions i < j of equal size into one, the last: a view if they are adjacent.
TensorHandle diagonal_of(const TensorHandle& x, int64_t i, int64_t j) {
  Dims order, size;
  for (int64_t k = 0; k < x.rank(); ++k)
    if (k != i && k != j) order.push_back(k), size.push_back(x.shape()[k]);
  const int64_t n = x.shape()[i];
  order.push_back(i), order.push_back(j);
  size.push_back(n * n);
  return slice(reshape(permute(x, order), size), size.size() - 1, 0, n * n, n + 1);
}

// One side of the equation: the labels of each operand, with `axes` axes under each ellipsis.
Labels read_labels(std::string_view text, int64_t ellipsis_axes) {
  Labels labels;
  bool ellipsis = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text.substr(i, 3) == "...") {
      require<ValueError>(!ellipsis, "expected one ellipsis per operand: got '{}'", text);
      ellipsis = true;
      for (int64_t k = ellipsis_axes - 1; k >= 0; --k) labels.push_back(kEllipsis + int(k));
      i += 2;
      continue;
    }
    const bool letter = (text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z');
    require<ValueError>(letter, "expected letters and '...': got '{}'", text);
    labels.push_back(text[i]);
  }
  return labels;
}

Term read_term(std::string_view text, const TensorHandle& operand) {
  const auto letters = int64_t(read_labels(text, 0).size());
  const bool ellipsis = text.find("...") != text.npos;
  require<ValueError>(ellipsis ? letters <= operand.rank() : letters == operand.rank(),
      "the equation has the wrong number of subscripts for an operand: got '{}' for {}", text, operand.shape());
  Term term{operand, read_labels(text, operand.rank() - letters)};
  for (size_t j = 1; j < term.labels.size(); ++j)  // repeated letters mean the diagonal
    for (size_t i = 0; i < j; ++i) {
      const int label = term.labels[i];
      if (term.labels[j] != label) continue;
      require(term.value.shape()[int64_t(i)] == term.value.shape()[int64_t(j)], "the sizes of a repeated subscript differ: got {} for '{}'",
          operand.shape(), text);
      term.value = diagonal_of(term.value, int64_t(i), int64_t(j));
      term.labels.erase(term.labels.begin() + int64_t(j));
      term.labels.erase(term.labels.begin() + int64_t(i));
      term.labels.push_back(label);
      j = 0;
      break;
    }
  return term;
}

// What the result has when the equation does not say: the axes of ellipses, then the letters that occur once, in order.
Labels implicit_output(const std::vector<Labels>& all) {
  Labels letters, output;
  int ellipsis = 0;
  for (const Labels& labels : all)
    for (int label : labels) label >= kEllipsis ? void(ellipsis = std::max(ellipsis, label - kEllipsis + 1)) : letters.push_back(label);
  for (int k = ellipsis - 1; k >= 0; --k) output.push_back(kEllipsis + k);
  std::sort(letters.begin(), letters.end());
  for (int label : letters)
    if (std::count(letters.begin(), letters.end(), label) == 1) output.push_back(label);
  return output;
}

int64_t volume(const Term& term, const Labels& labels) {
  int64_t n = 1;
  for (int label : labels) n *= term.extent(label);
  return n;
}

// The product of two terms, summed over the labels that neither the result nor another term needs.
Term contract(Term a, Term b, const Labels& needed) {
  for (int label : Labels(a.labels)) {  // an axis of extent 1 stretches: it is the other's alone
    if (!has(b.labels, label)) continue;
    const int64_t m = a.extent(label), n = b.extent(label);
    require(m == n || m == 1 || n == 1, "the sizes of a subscript differ: got {} and {}", m, n);
    if (m == 1 && n != 1) a.drop(label);
    else if (n == 1 && m != 1) b.drop(label);
  }
  Labels batch, rows, columns, folded;
  for (int label : Labels(a.labels)) {
    if (has(b.labels, label)) (has(needed, label) ? batch : folded).push_back(label);
    else if (has(needed, label)) rows.push_back(label);
    else a.sum_out(label);
  }
  for (int label : Labels(b.labels)) {
    if (has(a.labels, label)) continue;
    if (has(needed, label)) columns.push_back(label);
    else b.sum_out(label);
  }
  auto joined = [](Labels x, const Labels& y, const Labels& z) {
    x.insert(x.end(), y.begin(), y.end());
    x.insert(x.end(), z.begin(), z.end());
    return x;
  };
  const Labels result = joined(batch, rows, columns);
  TensorHandle left = a.ordered(joined(batch, rows, folded)), right = b.ordered(joined(batch, folded, columns));
  if (folded.empty()) {
    for (size_t i = 0; i < columns.size(); ++i) left = unsqueeze(left, left.rank());
    for (size_t i = 0; i < rows.size(); ++i) right = unsqueeze(right, int64_t(batch.size()));
    return {left * right, result};
  }
  Dims size;
  for (int label : result) size.push_back(has(a.labels, label) ? a.extent(label) : b.extent(label));
  const int64_t n = volume(a, batch), m = volume(a, rows), k = volume(a, folded), p = volume(b, columns);
  return {reshape(bmm(reshape(left, Dims{n, m, k}), reshape(right, Dims{n, k, p})), size), result};
}

// Terms and result, read from an equation. Terms are multiplied from left to right.
TensorHandle evaluate(std::string_view equation, const Tensors& operands) {
  const size_t arrow = equation.find("->");
  std::string_view left = equation.substr(0, arrow);
  std::vector<Term> terms;
  std::vector<Labels> written;  // with repetitions
  for (const TensorHandle& operand : operands) {
    require<ValueError>(terms.empty() || left.data() != nullptr, "more operands than terms in the equation: got {}", operands.size());
    const size_t comma = left.find(',');
    const std::string_view text = left.substr(0, comma);
    terms.push_back(read_term(text, operand));
    written.push_back(read_labels(text, operand.rank() - int64_t(read_labels(text, 0).size())));
    left = comma == left.npos ? std::string_view() : left.substr(comma + 1);
  }
  require<ValueError>(left.data() == nullptr && !terms.empty(),
      "the number of operands does not match the equation: got {} operands for '{}'", operands.size(), equation);
  Labels output = implicit_output(written);
  if (arrow != equation.npos) {
    const int64_t ellipsis = std::count_if(output.begin(), output.end(), [](int label) { return label >= kEllipsis; });
    output = read_labels(equation.substr(arrow + 2), ellipsis);
    for (int label : output) {
      require<ValueError>(std::count(output.begin(), output.end(), label) == 1, "the output has a repeated subscript: got '{}'", equation);
      const bool known = std::any_of(terms.begin(), terms.end(), [&](const Term& t) { return has(t.labels, label); });
      require<ValueError>(known, "the output has a subscript that no operand has: got '{}'", equation);
    }
  }
  Term product = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    Labels needed = output;
    for (size_t j = i + 1; j < terms.size(); ++j) needed.insert(needed.end(), terms[j].labels.begin(), terms[j].labels.end());
    product = contract(product, terms[i], needed);
  }
  for (int label : Labels(product.labels))
    if (!has(output, label)) product.sum_out(label);
  const TensorHandle y = product.ordered(output);
  return terms.size() > 1 ? TensorHandle(independent(y)) : y;
}

// The cheapest order of a chain of products: best[i][j] is the split point of the part from i to j.
TensorHandle chained(const Tensors& matrices) {
  const auto n = size_t(matrices.size());
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0.0));
  std::vector<std::vector<size_t>> best(n, std::vector<size_t>(n, 0));
  for (size_t length = 1; length < n; ++length)
    for (size_t i = 0; i + length < n; ++i) {
      const size_t j = i + length;
      cost[i][j] = std::numeric_limits<double>::infinity();
      for (size_t k = i; k < j; ++k) {
        const double own =
            double(matrices[int64_t(i)].shape()[0]) * double(matrices[int64_t(k)].shape()[1]) * double(matrices[int64_t(j)].shape()[1]);
        const double total = cost[i][k] + cost[k + 1][j] + own;
        if (total < cost[i][j]) cost[i][j] = total, best[i][j] = k;
      }
    }
  auto multiply = [&](auto& self, size_t i, size_t j) -> TensorHandle {
    if (i == j) return matrices[int64_t(i)];
    return mm(self(self, i, best[i][j]), self(self, best[i][j] + 1, j));
  };
  return multiply(multiply, 0, n - 1);
}

}  // namespace

TensorHandle fn::einsum(const std::string& equation, const Tensors& operands) { return evaluate(equation, operands); }

TensorHandle fn::tensordot(const TensorHandle& a, const TensorHandle& b, const Dims& dims_a, const Dims& dims_b) {
  require<ValueError>(dims_a.size() == dims_b.size(), "expected the same number of dimensions for a and b: got {} and {}", dims_a, dims_b);
  Term left{a, {}}, right{b, {}};
  for (int i = 0; i < a.rank(); ++i) left.labels.push_back(i);
  for (int i = 0; i < b.rank(); ++i) right.labels.push_back(a.rank() + i);
  for (int64_t i = 0; i < dims_a.size(); ++i) right.labels[size_t(normalise_dim(dims_b[i], b.rank()))] = normalise_dim(dims_a[i], a.rank());
  Labels needed;
  for (const Term* term : {&left, &right})
    for (int label : term->labels)
      if (!has(left.labels, label) || !has(right.labels, label)) needed.push_back(label);
  return independent(contract(left, right, needed).value);
}

TensorHandle fn::kron(const TensorHandle& input, const TensorHandle& other) {
  const int rank = std::max(input.rank(), other.rank());
  Dims left, right, size;
  for (int i = 0; i < rank; ++i) {
    const int x = i - (rank - input.rank()), y = i - (rank - other.rank());
    left.push_back(x < 0 ? 1 : input.shape()[x]), left.push_back(1);
    right.push_back(1), right.push_back(y < 0 ? 1 : other.shape()[y]);
    size.push_back(Checked(left[2 * i]) * right[2 * i + 1]);
  }
  return independent(reshape(reshape(input, left) * reshape(other, right), size));
}

TensorHandle fn::chain_matmul(const Tensors& matrices) {
  require<ValueError>(!matrices.empty(), "expected at least one matrix: got none");
  for (const TensorHandle& m : matrices) require(m.rank() == 2, "expected matrices: got {}", m.shape());
  return chained(matrices);
}

TensorHandle fn::linalg_multi_dot(const Tensors& tensors) {
  require<ValueError>(tensors.size() >= 2, "expected at least two tensors: got {}", tensors.size());
  Tensors matrices = tensors;
  const bool row = tensors[0].rank() == 1, column = tensors.back().rank() == 1;
  if (row) matrices[0] = unsqueeze(tensors[0], 0);
  if (column) matrices.back() = unsqueeze(tensors.back(), 1);
  for (const TensorHandle& m : matrices) require(m.rank() == 2, "expected matrices: got {}", m.shape());
  TensorHandle y = chained(matrices);
  if (row) y = remove_axis(y, 0);
  if (column) y = remove_axis(y, y.rank() - 1);
  return independent(y);
}

TensorHandle fn::cross(const TensorHandle& input, const TensorHandle& other, std::optional<int64_t> dim) {
  require(input.rank() == other.rank(), "expected the same number of dimensions: got {} and {}", input.shape(), other.shape());
  const Dims size = broadcast_shapes(input.shape(), other.shape());
  const auto first = std::find(size.begin(), size.end(), 3) - size.begin();
  const int64_t axis = dim ? normalise_dim(*dim, int(size.size())) : first;
  require(axis < size.size() && size[axis] == 3, "expected a dimension of size 3: got {} and {}", input.shape(), other.shape());
  const TensorHandle a = expand(input, size), b = expand(other, size);
  const TensorHandle i = arange(0, 3, 1, DType::int64, &input.device());
  const TensorHandle next = where(lt(i, 2), i + 1, 0), previous = where(gt(i, 0), i - 1, 2);
  auto turned = [&](const TensorHandle& x, const TensorHandle& by) { return index_select(x, axis, by); };
  return turned(a, next) * turned(b, previous) - turned(a, previous) * turned(b, next);
}

void register_einsum(OpTable& table) { table.add(functions); }

}  // namespace pyburn
