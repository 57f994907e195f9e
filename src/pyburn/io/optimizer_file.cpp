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

// The value of a field; null if there is none.
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

}  // namespace

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
const TensorHandle& tensor_of(const Value& v, std::string_view name) {
  require<FormatError>(v.kind == K::tensor, "[optimizer] expected a tensor as '{}': got a {}", name, name_of(v.kind));
  return v.tensor;
}

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
  require<FormatError>(found->kind == K::text, "[optimizer] expected a string as '{}': got a {}", name, name_of(found->kind));
  v = found->text;
}
void get_option(const Value& dict, std::string_view name, std::optional<Scalar>& v) {
  const Value* found = get(dict, name);
  v = found ? std::optional<Scalar>(number_of(*found)) : std::nullopt;
}
void get_state(const Value& dict, std::string_view name, TensorHandle& v) {
  const Value* found = dict.find(name);
  if (found && found->kind != K::none) v = tensor_of(*found, name);
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
  require<FormatError>(v.kind == K::integer, "[optimizer] expected the index of a parameter: got a {}", name_of(v.kind));
  return v.integer;
}

}  // namespace pyburn::io::detail

namespace pyburn::io {
namespace {

using K = Value::Kind;

Value* list_of_tensors(Tree& tree, const std::vector<TensorHandle>& tensors) {
  Value* list = tree.make(K::list);
  for (const TensorHandle& t : tensors) list->items.push_back(tree.tensor(t));
  return list;
}

// As PyTorch keeps it: numbers that come from products are tensors, and there is a scratch pad of the size of the history.
void put_state(Tree& tree, Value& dict, const optim::LbfgsState& s, int64_t history) {
  const auto put = [&](const char* name, Value* v) { dict.items.insert(dict.items.end(), {tree.text(name), v}); };
  const auto number = [&](double v) { return tree.tensor(fn::full({}, v, s.d.dtype())); };
  put("func_evals", tree.integer(s.func_evals));
  put("n_iter", tree.integer(s.n_iter));
  if (!s.d.defined()) return;
  Value* ro = tree.make(K::list);
  for (double r : s.ro) ro->items.push_back(number(r));
  put("d", tree.tensor(s.d));
  put("t", tree.real(s.t));
  put("old_dirs", list_of_tensors(tree, s.old_dirs));
  put("old_stps", list_of_tensors(tree, s.old_stps));
  put("ro", ro);
  put("H_diag", s.ro.empty() ? tree.integer(1) : number(s.H_diag));
  put("prev_flat_grad", tree.tensor(s.prev_flat_grad));
  put("prev_loss", tree.real(s.prev_loss));
  put("al", tree.list(std::vector<Value*>(size_t(history), tree.none())));
}

void get_tensors(const Value& dict, std::string_view name, std::vector<TensorHandle>& to) {
  if (const Value* list = dict.find(name); list && list->kind != K::none)
    for (const Value* item : detail::items_of(*list, K::list)) to.push_back(detail::tensor_of(*item, name));
}

}  // namespace

void save_optimizer(const optim::LBFGS& optimizer, const std::filesystem::path& path) {
  optim::LbfgsOptions o = optimizer.options;
  if (o.max_eval <= 0) o.max_eval = o.max_iter * 5 / 4;
  Tree tree;
  tree.root = tree.make(K::dict);
  Value* states = detail::add_dict(tree, *tree.root, tree.text("state"));
  if (optimizer.state_dict().func_evals > 0)
    put_state(tree, *detail::add_dict(tree, *states, tree.integer(0)), optimizer.state_dict(), o.history_size);
  Value* group = tree.make(K::dict);
  detail::each_field(o, [&](std::string_view name, const auto& field) {
    if (name == "line_search_fn" && o.line_search_fn.empty())
      group->items.insert(group->items.end(), {tree.text(std::string(name)), tree.none()});
    else detail::put_option(tree, *group, name, field);
  });
  std::vector<Value*> positions;
  for (size_t i = 0; i < optimizer.parameters().size(); ++i) positions.push_back(tree.integer(int64_t(i)));
  group->items.insert(group->items.end(), {tree.text("params"), tree.list(positions)});
  tree.root->items.insert(tree.root->items.end(), {tree.text("param_groups"), tree.list({group})});
  detail::save_tree(tree, path);
}

void load_optimizer(optim::LBFGS& optimizer, const std::filesystem::path& path) {
  const Checkpoint file = detail::load_tree(path);
  const auto& groups = detail::items_of(file.root().at("param_groups"), K::list);
  require<ValueError>(groups.size() == 1 && detail::items_of(groups[0]->at("params"), K::list).size() == optimizer.parameters().size(),
      "loaded state dict contains a parameter group that doesn't match the size of optimizer's group");
  optim::LbfgsOptions options;
  detail::each_field(options, [&](std::string_view name, auto& field) { detail::get_option(*groups[0], name, field); });
  options.check();
  optim::LbfgsState s;
  const auto& states = detail::items_of(file.root().at("state"), K::dict);
  if (!states.empty()) {
    const Value& dict = *states[1];
    for (auto* number : {&s.func_evals, &s.n_iter}) detail::get_state(dict, number == &s.n_iter ? "n_iter" : "func_evals", *number);
    detail::get_state(dict, "d", s.d);
    detail::get_state(dict, "prev_flat_grad", s.prev_flat_grad);
    detail::get_state(dict, "t", s.t);
    detail::get_state(dict, "H_diag", s.H_diag);
    detail::get_state(dict, "prev_loss", s.prev_loss);
    get_tensors(dict, "old_dirs", s.old_dirs);
    get_tensors(dict, "old_stps", s.old_stps);
    if (const Value* ro = dict.find("ro"); ro && ro->kind != K::none)
      for (const Value* r : detail::items_of(*ro, K::list)) s.ro.push_back(detail::number_of(*r));
  }
  optimizer.load_state_dict(s);
  optimizer.options = options;
}

}  // namespace pyburn::io
