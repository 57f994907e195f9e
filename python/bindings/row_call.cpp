#include "row_call.h"

#include <algorithm>

#include "pyburn/ir/op_info.h"
#include "pyburn/support/error.h"

namespace pyburn::python {
namespace {

// The name of each field and the types of a schema that it can hold.
struct FieldTypes final : FieldEditor {
  struct Field {
    std::string name;
    bool optional;
    std::vector<ParameterType> types;
  };
  std::vector<Field> all;
  bool announced = false;

  void add(std::string_view name, std::vector<ParameterType> types) {
    all.push_back({std::string(name), std::exchange(announced, false), std::move(types)});
  }
  void field(std::string_view n, bool&) override { add(n, {ParameterType::boolean}); }
  void field(std::string_view n, int64_t&) override { add(n, {ParameterType::integer}); }
  void field(std::string_view n, double&) override { add(n, {ParameterType::number}); }
  void field(std::string_view n, std::string&) override { add(n, {ParameterType::text}); }
  void field(std::string_view n, DType&) override { add(n, {ParameterType::dtype}); }
  void field(std::string_view n, Dims&) override { add(n, {ParameterType::dims}); }
  void field(std::string_view n, Numbers&) override { add(n, {ParameterType::numbers}); }
  void field(std::string_view n, Scalar&) override { add(n, {ParameterType::scalar, ParameterType::number, ParameterType::integer}); }
  void field(std::string_view n, std::optional<Scalar>&) override {
    add(n, {ParameterType::optional_scalar, ParameterType::optional_number, ParameterType::optional_integer});
  }
  void field(std::string_view n, Ref<Graph>&) override { add(n, {}); }
  void field(std::string_view n, TensorHandle&) override { add(n, {}); }
  bool optional(std::string_view, bool) override { return announced = true; }
};

// An optional number is a field of its own; any other optional field holds the optional form of a type.
bool can_hold(const FieldTypes::Field& field, ParameterType type) {
  const ParameterType wanted = field.optional ? required_form(type) : type;
  return field.optional <= (wanted != type) && std::find(field.types.begin(), field.types.end(), wanted) != field.types.end();
}

// Arguments into fields, in order.
class ArgumentFields final : public FieldEditor {
 public:
  ArgumentFields(const Arguments& a, const std::vector<int>& parameters) : a_(a), parameters_(parameters) {}
  void field(std::string_view, bool& v) override { set(v, &Arguments::boolean); }
  void field(std::string_view, int64_t& v) override { set(v, &Arguments::integer); }
  void field(std::string_view, double& v) override { set(v, &Arguments::number); }
  void field(std::string_view, std::string& v) override { set(v, &Arguments::text); }
  void field(std::string_view, DType& v) override { set(v, &Arguments::dtype); }
  void field(std::string_view, Dims& v) override { set(v, &Arguments::dims); }
  void field(std::string_view, Numbers& v) override { set(v, &Arguments::numbers); }
  void field(std::string_view, Scalar& v) override { set(v, &Arguments::scalar); }
  void field(std::string_view, std::optional<Scalar>& v) override { set(v, &Arguments::optional_scalar); }
  void field(std::string_view, Ref<Graph>&) override { ++next_; }
  void field(std::string_view, TensorHandle&) override { ++next_; }
  bool optional(std::string_view, bool given) override {
    const int i = parameters_[next_];
    const bool there = i < 0 ? given : !a_.is_none(i);
    next_ += !there;  // otherwise its value follows
    return there;
  }

 private:
  template <class T>
  void set(T& v, T (Arguments::*read)(int) const) {
    if (const int i = parameters_[next_++]; i >= 0) v = (a_.*read)(i);
  }
  const Arguments& a_;
  const std::vector<int>& parameters_;
  size_t next_ = 0;
};

int64_t inferred_outputs(OpRef op, Inputs in) {
  SmallVector<Meta, 4> metas;
  for (const TensorHandle* t : in) metas.push_back(t->defined() ? t->meta() : Meta{});
  MetaList results;
  op.info->infer(op, {metas.data(), size_t(metas.size())}, results);
  return results.size();
}

}  // namespace

RowCall::RowCall(const OpInfo& row, const Signature& signature) : row_(row), results_(result_count(row.schema)) {
  FieldTypes known;
  row.attrs->edit(AttrBox::fresh(*row.attrs)->get(), known);
  fields_.assign(known.all.size(), -1);
  int lists = 0;
  for (int i = 0; i < int(signature.parameters.size()); ++i) {
    const Parameter& p = signature.parameters[size_t(i)];
    const char* name = PyUnicode_AsUTF8(p.name);
    if (p.type == ParameterType::operand || p.type == ParameterType::optional_generator)
      fail<ValueError>("[{}] {} is a type for built-in operations alone: got argument '{}'", row.name(), name_of(p.type), name);
    if (p.type == ParameterType::optional_device) {
      device_ = i;
      continue;
    }
    if (takes_tensors(p.type)) {
      tensors_.emplace_back(i, p.type);
      lists += p.type == ParameterType::tensors;
      continue;
    }
    size_t f = 0;
    while (f < known.all.size() && known.all[f].name != name) ++f;
    require<ValueError>(f < known.all.size(), "[{}] the attributes have no field for the argument '{}' of the schema", row.name(), name);
    require<ValueError>(can_hold(known.all[f], p.type), "[{}] the field '{}' cannot hold the type that the schema says: got {}", row.name(),
        name, name_of(p.type));
    fields_[f] = i;
  }
  require<ValueError>(lists <= 1, "[{}] expected at most one argument of type Tensor[]: got {}", row.name(), lists);
}

bool RowCall::writes_in_place() const {
  const bool wanted = row_.kind == Kind::elementwise || row_.in_place;
  return wanted && writes_results() && results_ == 1 && !tensors_.empty() && tensors_[0] == std::pair(0, ParameterType::tensor);
}

void RowCall::dispatch(const Arguments& a, Tensors& out) const {
  InputList in;
  Tensors list;
  for (const auto& [i, type] : tensors_) {
    if (type == ParameterType::tensors) {
      list = a.tensors(i);
      if (list.empty()) a.refuse(i, "a sequence of at least one Tensor");
      in.add(list);
    } else {
      in.add(type == ParameterType::tensor ? a.tensor(i) : a.optional_tensor(i));
    }
  }
  const Ref<AttrBox> attrs = AttrBox::fresh(*row_.attrs);
  ArgumentFields fields(a, fields_);
  row_.attrs->edit(attrs->get(), fields);
  const OpRef op{&row_, attrs->get()};
  Device* device = device_ < 0 ? nullptr : a.optional_device(device_);
  const LargeCall call(a);
  if (out.empty()) out.resize(results_ > 0 ? results_ : naming(row_, [&] { return inferred_outputs(op, in); }));
  pyburn::dispatch(op, in, {out.data(), size_t(out.size())}, device);
}

PyObject* RowCall::call(const Arguments& a) const {
  Tensors out;
  dispatch(a, out);
  if (results_ == 1) return wrap(std::move(out[0]));
  if (results_ < 0) return wrap(out);
  SmallVector<const TensorHandle*, 4> pointers;
  for (const TensorHandle& t : out) pointers.push_back(&t);
  return a.wrapped_many({pointers.data(), size_t(pointers.size())});
}

void RowCall::into(const Arguments& a, std::span<const TensorHandle> targets) const {
  Tensors out;
  out.append(targets.begin(), targets.end());
  dispatch(a, out);
}

}  // namespace pyburn::python
