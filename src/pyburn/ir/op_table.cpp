#include <unordered_map>
#include <vector>

#include "pyburn/ir/op_info.h"
#include "pyburn/support/error.h"
#include "pyburn/support/registration.h"

namespace pyburn {

struct OpTable::Body {
  std::vector<OpInfo*> rows;
  std::vector<const FunctionInfo*> functions;
  std::unordered_map<std::string_view, OpInfo*> by_name;
  uint16_t next_index = 0;  // never given twice: tables of kernels keep what belongs to a row that was taken back
};

OpTable::OpTable() : body_(new Body) {}  // never freed: rows outlive everything

OpTable& OpTable::global() {
  static OpTable* table = new OpTable;
  return *table;
}

void OpTable::add(std::initializer_list<OpInfo*> rows) {
  for (OpInfo* row : rows) {
    auto [it, fresh] = body_->by_name.emplace(row->name(), row);
    if (it->second == row && !fresh) continue;
    require<ValueError>(fresh, "an operation of this name exists: got '{}'", row->name());
    row->index = body_->next_index++;
    body_->rows.push_back(row);
    undo_registration_by([this, row] {
      body_->by_name.erase(row->name());
      std::erase(body_->rows, row);
    });
  }
}

void OpTable::add(std::span<const FunctionInfo> functions) {
  const size_t before = body_->functions.size();
  for (const FunctionInfo& f : functions) body_->functions.push_back(&f);
  undo_registration_by([this, before] { body_->functions.resize(before); });
}

const OpInfo* OpTable::find(std::string_view name) const {
  const auto it = body_->by_name.find(name);
  return it == body_->by_name.end() ? nullptr : it->second;
}

std::span<OpInfo* const> OpTable::rows() const { return body_->rows; }
std::span<const FunctionInfo* const> OpTable::functions() const { return body_->functions; }

}  // namespace pyburn
