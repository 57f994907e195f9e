// call: runs a module with several inputs and its hooks, as Module::call does for modules with one.
//
//   const nn::RecurrentResult r = nn::call(*lstm, x, h0, c0);
//   const nn::AttentionResult a = nn::call(*attention, query, key, value);
//
// Hooks receive the tensors among the arguments, and those of the result.
#pragma once
#include <array>
#include <tuple>

#include "pyburn/nn/module.h"

namespace pyburn::nn {

// Lists the tensors of a result. A struct declares them: auto tensors() { return std::tie(output, weights); }
inline std::vector<TensorHandle*> tensors_in(TensorHandle& t) { return {&t}; }
template <class... T>
std::vector<TensorHandle*> tensors_in(std::tuple<T&...> tied) {
  return std::apply([](auto&... t) { return std::vector<TensorHandle*>{&t...}; }, tied);
}
inline std::vector<TensorHandle*> tensors_in(std::pair<TensorHandle, TensorHandle>& two) { return {&two.first, &two.second}; }
template <size_t N>
std::vector<TensorHandle*> tensors_in(std::array<TensorHandle, N>& list) {
  std::vector<TensorHandle*> found;
  for (TensorHandle& t : list) found.push_back(&t);
  return found;
}
template <class R>
requires requires(R& r) { r.tensors(); }
std::vector<TensorHandle*> tensors_in(R& result) { return tensors_in(result.tensors()); }

template <class L, class... A>
auto call_hooked(L& layer, const A&... arguments) -> decltype(layer.forward(arguments...)) {
  std::tuple<A...> held(arguments...);
  std::vector<TensorHandle*> places;
  const auto note = [&]<class T>(T& argument) {
    if constexpr (requires { tensors_in(argument); })
      for (TensorHandle* t : tensors_in(argument)) places.push_back(t);
  };
  std::apply([&](A&... a) { (note(a), ...); }, held);
  Tensors inputs;
  for (const TensorHandle* t : places) inputs.push_back(*t);

  decltype(layer.forward(arguments...)) result;
  const Tensors outputs = layer.call_between_hooks(inputs, [&](const Tensors& changed) {
    for (size_t i = 0; i < places.size(); ++i) *places[i] = changed[int64_t(i)];
    result = std::apply([&](const A&... a) { return layer.forward(a...); }, held);
    Tensors found;
    for (const TensorHandle* t : tensors_in(result)) found.push_back(*t);
    return found;
  });
  const std::vector<TensorHandle*> results = tensors_in(result);
  for (size_t i = 0; i < results.size(); ++i) *results[i] = outputs[int64_t(i)];
  return result;
}

template <class L, class... A>
auto call(L& layer, const A&... arguments) -> decltype(layer.forward(arguments...)) {
  try {
    return layer.has_call_hooks() ? call_hooked(layer, arguments...) : layer.forward(arguments...);
  } catch (Error& error) {
    layer.say_where(error);
    throw;
  }
}

}  // namespace pyburn::nn
