// The state of an optimiser in a file, in PyTorch's layout: torch.load(weights_only=True) loads files written here, and files of PyTorch or
// of pyburn's Python API can be loaded here.
#pragma once
#include "pyburn/io/checkpoint.h"
#include "pyburn/optim/lbfgs.h"
#include "pyburn/optim/optimizer.h"

namespace pyburn::io {
namespace detail {

// Options and state as dicts, field by field. Options that PyTorch stores as a tuple (beta1 and beta2 are "betas") are combined.
void put_option(Tree& tree, Value& dict, std::string_view name, bool v);
void put_option(Tree& tree, Value& dict, std::string_view name, int64_t v);
void put_option(Tree& tree, Value& dict, std::string_view name, double v);
void put_option(Tree& tree, Value& dict, std::string_view name, const std::string& v);
void put_option(Tree& tree, Value& dict, std::string_view name, const std::optional<Scalar>& v);
void put_state(Tree& tree, Value& dict, std::string_view name, const TensorHandle& v);  // nothing if undefined
void put_state(Tree& tree, Value& dict, std::string_view name, double v);               // step counts are tensors with one float
// Absent entries and None leave the value unchanged. FormatError for a value of the wrong type.
void get_option(const Value& dict, std::string_view name, bool& v);
void get_option(const Value& dict, std::string_view name, int64_t& v);
void get_option(const Value& dict, std::string_view name, double& v);
void get_option(const Value& dict, std::string_view name, std::string& v);
void get_option(const Value& dict, std::string_view name, std::optional<Scalar>& v);
void get_state(const Value& dict, std::string_view name, TensorHandle& v);
void get_state(const Value& dict, std::string_view name, int64_t& v);
void get_state(const Value& dict, std::string_view name, double& v);

Value* add_dict(Tree& tree, Value& to, Value* key);
void save_tree(const Tree& tree, const std::filesystem::path& path);
Checkpoint load_tree(const std::filesystem::path& path);
// The entries of a list or dict; FormatError for other types.
const std::vector<Value*>& items_of(const Value& v, Value::Kind kind);
int64_t integer_of(const Value& v);
double number_of(const Value& v);  // a number, or a tensor with one element
const TensorHandle& tensor_of(const Value& v, std::string_view name);

// visit(name, field) for every field in PB_FIELDS.
template <class Struct, class Visit>
void each_field(Struct& s, Visit visit) {
  std::string_view names = Struct::field_names();
  std::apply([&](auto&... field) { (visit(pyburn::detail::next_name(names), field), ...); }, s.fields());
}

}  // namespace detail

template <class Options, class State>
void save_optimizer(optim::Optimizer<Options, State>& optimizer, const std::filesystem::path& path) {
  auto saved = optimizer.state_dict();
  Tree tree;
  tree.root = tree.make(Value::Kind::dict);
  Value* states = detail::add_dict(tree, *tree.root, tree.text("state"));
  for (auto& [position, state] : saved.state) {
    Value* dict = detail::add_dict(tree, *states, tree.integer(position));
    detail::each_field(state, [&](std::string_view name, const auto& field) { detail::put_state(tree, *dict, name, field); });
  }
  std::vector<Value*> groups;
  for (auto& group : saved.param_groups) {
    Value* dict = groups.emplace_back(tree.make(Value::Kind::dict));
    detail::each_field(group.options, [&](std::string_view name, const auto& field) { detail::put_option(tree, *dict, name, field); });
    std::vector<Value*> positions;
    for (int64_t p : group.params) positions.push_back(tree.integer(p));
    dict->items.insert(dict->items.end(), {tree.text("params"), tree.list(positions)});
  }
  tree.root->items.insert(tree.root->items.end(), {tree.text("param_groups"), tree.list(groups)});
  detail::save_tree(tree, path);
}

// ValueError if the parameter groups differ from those of the optimiser, FormatError if the file is not an optimiser state.
template <class Options, class State>
void load_optimizer(optim::Optimizer<Options, State>& optimizer, const std::filesystem::path& path) {
  const Checkpoint file = detail::load_tree(path);
  typename optim::Optimizer<Options, State>::StateDict saved;
  const auto& states = detail::items_of(file.root().at("state"), Value::Kind::dict);
  for (size_t i = 0; i + 1 < states.size(); i += 2) {
    State& state = saved.state[detail::integer_of(*states[i])];
    detail::each_field(state, [&](std::string_view name, auto& field) { detail::get_state(*states[i + 1], name, field); });
  }
  for (const Value* dict : detail::items_of(file.root().at("param_groups"), Value::Kind::list)) {
    auto& group = saved.param_groups.emplace_back();
    detail::each_field(group.options, [&](std::string_view name, auto& field) { detail::get_option(*dict, name, field); });
    for (const Value* p : detail::items_of(dict->at("params"), Value::Kind::list)) group.params.push_back(detail::integer_of(*p));
    group.options.check();
  }
  optimizer.load_state_dict(saved);
}

// LBFGS has one group, and one state for all parameters.
void save_optimizer(const optim::LBFGS& optimizer, const std::filesystem::path& path);
void load_optimizer(optim::LBFGS& optimizer, const std::filesystem::path& path);

}  // namespace pyburn::io
