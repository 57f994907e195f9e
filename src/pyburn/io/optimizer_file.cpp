#include "pyburn/io/optimizer_file.h"

#include "pyburn/io/atomic_file.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn::io::detail {
namespace {

using K = Value::Kind;

// Where PyTorch has a field: a key, and a place in a tuple, or -1.
struct Home {
  std::string_view key;
  int place;
};
Home home_of(std::string_view field) {
  static constexpr struct {
    std::string_view field;
    Home home;
  } kInTuples[] = {{"beta1", {"betas", 0}}, {"beta2", {"betas", 1}}, {"beta3", {"betas", 2}}, {"eta_minus", {"etas", 0}},
      {"eta_plus", {"etas", 1}}, {"step_size_min", {"step_sizes", 0}}, {"step_size_max", {"step_sizes", 1}},
      {"ns_a", {"ns_coefficients", 0}}, {"ns_b", {"ns_coefficients", 1}}, {"ns_c", {"ns_coefficients", 2}}, {"eps1", {"eps", 0}},
      {"eps2", {"eps", 1}}};
  for (const auto& row : kInTuples)
    if (row.field == field) return row.home;
  return {field, -1};
}

void put(Tree& tree, Value& dict, std::string_view field, Value* v) {
  const Home home = home_of(field);
  if (home.place > 0) {  // the fields of a tuple follow each other
    dict.items.back()->items.push_back(v);
    return;
  }
  dict.items.insert(dict.items.end(), {tree.text(std::string(home.key)), home.place < 0 ? v : tree.list({v}, K::tuple)});
}

// The value of a field; null where there is none.
const Value* get(const Value& dict, std::string_view field) {
  require<FormatError>(dict.is_dict(), "[optimizer] expected a dict: got a {}", name_of(dict.kind));
  const Home home = home_of(field);
  const Value* v = dict.find(home.key);
  if (v && home.place >= 0) {
    require<FormatError>((v->kind == K::tuple || v->kind == K::list) && size_t(home.place) < v->items.size(),
        "[optimizer] expected a tuple as '{}': got a {}", home.key, name_of(v->kind));
    v = v->items[size_t(home.place)];
  }
  return v && v->kind != K::none ? v : nullptr;
}

double number_of(const Value& v) {
  switch (v.kind) {
    case K::boolean:
      return v.boolean;
    case K::integer:
      return double(v.integer);
    case K::real:
      return v.real;
    case K::tensor:
      if (v.tensor.numel() == 1) return read_number(v.tensor);
      [[fallthrough]];
    default:
      fail<FormatError>("[optimizer] expected a number: got a {}", name_of(v.kind));
  }
}

}  // namespace

void put_option(Tree& tree, Value& dict, std::string_view name, bool v) {
  if (name == "cautious_weight_decay" && !v) return;  // PyTorch has it not: it is there where it is used
  put(tree, dict, name, tree.boolean(v));
}
void put_option(Tree& tree, Value& dict, std::string_view name, int64_t v) { put(tree, dict, name, tree.integer(v)); }
void put_option(Tree& tree, Value& dict, std::string_view name, double v) { put(tree, dict, name, tree.real(v)); }
void put_option(Tree& tree, Value& dict, std::string_view name, const std::string& v) { put(tree, dict, name, tree.text(v)); }
void put_option(Tree& tree, Value& dict, std::string_view name, const std::optional<Scalar>& v) {
  put(tree, dict, name, v ? tree.real(v->to_double()) : tree.none());
}
void put_state(Tree& tree, Value& dict, std::string_view name, const TensorHandle& v) {
  if (v.defined()) dict.items.insert(dict.items.end(), {tree.text(std::string(name)), tree.tensor(v)});
}
void put_state(Tree& tree, Value& dict, std::string_view name, double v) { put_state(tree, dict, name, fn::full({}, v, DType::float32)); }

void get_option(const Value& dict, std::string_view name, bool& v) {
  if (const Value* found = get(dict, name)) v = number_of(*found) != 0;
}
void get_option(const Value& dict, std::string_view name, int64_t& v) {
  if (const Value* found = get(dict, name)) v = int64_t(number_of(*found));
}
void get_option(const Value& dict, std::string_view name, double& v) {
  if (const Value* found = get(dict, name)) v = number_of(*found);
}
void get_option(const Value& dict, std::string_view name, std::string& v) {
  const Value* found = get(dict, name);
  if (!found) return;
  require<FormatError>(found->kind == K::text, "[optimizer] expected text as '{}': got a {}", name, name_of(found->kind));
  v = found->text;
}
void get_option(const Value& dict, std::string_view name, std::optional<Scalar>& v) {
  const Value* found = get(dict, name);
  v = found ? std::optional<Scalar>(number_of(*found)) : std::nullopt;
}
void get_state(const Value& dict, std::string_view name, TensorHandle& v) {
  const Value* found = dict.find(name);
  if (!found || found->kind == K::none) return;
  require<FormatError>(found->kind == K::tensor, "[optimizer] expected a tensor as '{}': got a {}", name, name_of(found->kind));
  v = found->tensor;
}
void get_state(const Value& dict, std::string_view name, double& v) {
  if (const Value* found = dict.find(name); found && found->kind != K::none) v = number_of(*found);
}
void get_state(const Value& dict, std::string_view name, int64_t& v) {
  double number = double(v);
  get_state(dict, name, number);
  v = int64_t(number);
}

Value* add_dict(Tree& tree, Value& to, Value* key) {
  Value* dict = tree.make(K::dict);
  to.items.insert(to.items.end(), {key, dict});
  return dict;
}

void save_tree(const Tree& tree, const std::filesystem::path& path) {
  atomic_write(path, [&](AtomicFile& file) { write_checkpoint(*tree.root, file); });
}
Checkpoint load_tree(const std::filesystem::path& path) {
  Checkpoint file(SharedBytes::of_file(path));
  file.load([](const TensorHandle& storage, const std::string&) { return storage; });
  return file;
}

const std::vector<Value*>& items_of(const Value& v, K kind) {
  const bool fits = v.kind == kind || (kind == K::dict && v.is_dict());
  require<FormatError>(fits, "[optimizer] expected a {}: got a {}", name_of(kind), name_of(v.kind));
  return v.items;
}
int64_t integer_of(const Value& v) {
  require<FormatError>(v.kind == K::integer, "[optimizer] expected the position of a parameter: got a {}", name_of(v.kind));
  return v.integer;
}

}  // namespace pyburn::io::detail
