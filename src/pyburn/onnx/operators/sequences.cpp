// Sequences of tensors, and optionals.
#include "pyburn/onnx/call.h"
#include "pyburn/onnx/operators/host_tensors.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

const std::vector<Value>& items_of(Call& c, int i) {
  const Value& v = c.value(i);
  require<FormatError>(v.is_sequence(), "[onnx] input {} must be a sequence: got {}", i, to_text(v));
  return v.items();
}
Value sequence_of(Values items) { return make_ref<Sequence>(std::move(items)); }

// A place from an input, which may count from the back; `last`: the largest.
size_t place(Call& c, int i, int64_t size, int64_t last) {
  const int64_t given = c.read_integer(i), at = given < 0 ? given + size : given;
  require<IndexError>(at >= 0 && at <= last, "[sequence] position is out of range: got {} of {}", given, size);
  return size_t(at);
}

Results construct(Call& c) {
  Values items;
  for (int i = 0; i < c.inputs(); ++i) items.push_back(c.value(i));
  return sequence_of(std::move(items));
}
Results empty(Call&) { return sequence_of({}); }
Results length(Call& c) { return host_integer(int64_t(items_of(c, 0).size())); }
Results at(Call& c) {
  const auto& items = items_of(c, 0);
  const auto size = int64_t(items.size());
  return items[place(c, 1, size, size - 1)];
}
Results insert(Call& c) {
  Values items = items_of(c, 0);
  const auto size = int64_t(items.size());
  const size_t where = c.has_input(2) ? place(c, 2, size, size) : items.size();
  items.insert(items.begin() + ptrdiff_t(where), c.value(1));
  return sequence_of(std::move(items));
}
Results erase(Call& c) {
  Values items = items_of(c, 0);
  const auto size = int64_t(items.size());
  require<IndexError>(size > 0, "[sequence] there is nothing to erase");
  items.erase(items.begin() + ptrdiff_t(c.has_input(1) ? place(c, 1, size, size - 1) : items.size() - 1));
  return sequence_of(std::move(items));
}

Results concat_from_sequence(Call& c) {
  const auto& items = items_of(c, 0);
  require<FormatError>(!items.empty(), "[onnx] there is nothing to concatenate");
  Tensors tensors;
  for (const Value& v : items) tensors.push_back(c.as_tensor(v, 0));
  const int64_t axis = c.integer("axis");
  return c.flag("new_axis") ? fn::stack(tensors, axis) : fn::cat(tensors, axis);
}

// Parts of a size, of which the last may be smaller; parts of given sizes; or single entries.
Results split_to_sequence(Call& c) {
  const TensorHandle x = c.input(0);
  require(x.rank() > 0, "[split_to_sequence] expected at least one axis: got {}", x.shape());
  const int axis = normalise_dim(c.integer("axis", 0), x.rank());
  const int64_t size = x.shape()[axis];
  std::vector<int64_t> sizes;
  if (c.has_input(1) && c.value(1).tensor().rank() == 1) sizes = c.read_integers(1);
  else {
    const int64_t each = c.has_input(1) ? c.read_integer(1) : 1;
    require<ValueError>(each > 0, "[split_to_sequence] expected a positive size: got {}", each);
    for (int64_t i = 0; i < size; i += each) sizes.push_back(std::min(each, size - i));
  }
  const bool drops = !c.has_input(1) && !c.flag("keepdims", true);
  Values items;
  int64_t begin = 0;
  for (const int64_t n : sizes) {
    require<ValueError>(n >= 0 && n <= size - begin, "[split_to_sequence] sizes do not fit {} along axis {}: got {}", x.shape(), axis, n);
    items.emplace_back(drops ? fn::select(x, axis, begin) : fn::slice(x, axis, begin, begin + n));
    begin += n;
  }
  require<ValueError>(begin == size, "[split_to_sequence] sizes must add up to {}: got {}", size, begin);
  return sequence_of(std::move(items));
}

// The graph once for each item; inputs that are no sequences are the same for all.
Results sequence_map(Call& c) {
  const size_t count = items_of(c, 0).size();
  std::vector<Values> gathered(size_t(c.outputs()));
  for (size_t k = 0; k < count; ++k) {
    Values inputs;
    for (int i = 0; i < c.inputs(); ++i) {
      const Value& v = c.value(i);
      require<FormatError>(!v.is_sequence() || v.items().size() == count, "[onnx] sequences of SequenceMap must have {} items: got {}",
          int64_t(count), to_text(v));
      inputs.push_back(v.is_sequence() ? v.items()[k] : v);
    }
    const Values results = c.run_graph("body", inputs);
    require<FormatError>(results.size() >= gathered.size(), "[onnx] the graph of SequenceMap has {} outputs: got {}",
        int64_t(gathered.size()), int64_t(results.size()));
    for (size_t i = 0; i < gathered.size(); ++i) gathered[i].push_back(results[i]);
  }
  Values results;
  for (Values& items : gathered) results.push_back(sequence_of(std::move(items)));
  return results;
}

Results optional(Call& c) { return c.has_input(0) ? c.value(0) : Value::none(); }
Results optional_has_element(Call& c) {
  const bool has = c.has_input(0) && !c.value(0).is_none();
  return Value::on_host(from_host(host_device(), {const_cast<bool*>(&has), {Shape(), DType::boolean}}));
}
Results optional_get_element(Call& c) {
  require<ValueError>(c.has_input(0) && !c.value(0).is_none(), "[onnx] the optional is empty");
  return c.value(0);
}

constexpr Operator kRows[] = {
    {"", "SequenceConstruct", 11, construct},
    {"", "SequenceEmpty", 11, empty},
    {"", "SequenceLength", 11, length},
    {"", "SequenceAt", 11, at, inputs_at(1)},
    {"", "SequenceInsert", 11, insert, inputs_at(2)},
    {"", "SequenceErase", 11, erase, inputs_at(1)},
    {"", "ConcatFromSequence", 11, concat_from_sequence},
    {"", "SplitToSequence", 11, split_to_sequence, inputs_at(1)},
    {"", "SequenceMap", 17, sequence_map},
    {"", "Optional", 15, optional},
    {"", "OptionalHasElement", 15, optional_has_element},
    {"", "OptionalGetElement", 15, optional_get_element},
};

}  // namespace

std::span<const Operator> sequence_operators() { return kRows; }

}  // namespace pyburn::onnx
