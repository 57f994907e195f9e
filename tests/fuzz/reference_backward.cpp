// Gradients of the reference: the tape is walked back, element by element.
#include <set>

#include "reference.h"

namespace pyburn::fuzz {

std::vector<double> root_gradient(int64_t numel) {
  std::vector<double> g;
  for (int64_t i = 0; i < numel; ++i) g.push_back(1 + 0.25 * double(i % 3));
  return g;
}

Outcome Reference::backward() {
  adjoint_.assign(tape_.size(), 0);
  std::set<int> reached;
  for (const auto& [name, x] : variables_) {
    if (!x.wants()) continue;
    reached.insert(x.base->operation);
    const std::vector<int64_t> places = x.places();
    const std::vector<double> g = root_gradient(x.numel());
    for (size_t k = 0; k < places.size(); ++k)
      if (const int n = x.base->nodes[size_t(places[k])]; n >= 0) adjoint_[size_t(n)] += g[k];
  }
  for (auto it = reached.rbegin(); it != reached.rend() && *it >= 0; ++it) {  // parents come before: the set grows ahead of us
    const Recorded& op = operations_[size_t(*it)];
    for (const Saved& s : op.saved)
      if (s.store->version != s.version) return Outcome::gradient_error;
    reached.insert(op.parents.begin(), op.parents.end());
  }
  for (size_t n = tape_.size(); n-- > 0;)
    for (const Partial& p : tape_[n])
      adjoint_[size_t(p.parent)] += adjoint_[n] * p.factor * (p.store ? p.store->values[size_t(p.place)] : 1);
  return Outcome::ok;
}

std::vector<double> Reference::gradient(const Variable& leaf) const {
  std::vector<double> g;
  for (int64_t place : leaf.places()) g.push_back(adjoint_[size_t(leaf.base->nodes[size_t(place)])]);
  return g;
}

}  // namespace pyburn::fuzz
