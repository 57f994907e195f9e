#include <atomic>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "pyburn/ir/op_info.h"
#include "pyburn/ir/schema.h"
#include "pyburn/support/error.h"
#include "pyburn/support/fork_safe_mutex.h"
#include "pyburn/support/registration.h"

namespace pyburn {
namespace {

std::atomic<void (*)()> discovery{nullptr};

void check_row(const OpInfo& row) {
  require<ValueError>(row.schema && row.doc, "[operation] a row needs a schema and a line of documentation");
  check_schema(row.schema);
  require<ValueError>(row.attrs, "[{}] the row has no attributes: use define<NoAttrs, ...> for none", row.name());
  require<ValueError>(row.infer || row.view || row.kind == Kind::dynamic,
      "[{}] expected an inference rule: only dynamic operations, whose kernel decides the size of the result, have none", row.name());
  require<ValueError>(row.grad || row.decompose || row.no_grad,
      "[{}] expected a gradient, a decomposition, or the reason against a gradient (no_grad)", row.name());
}

}  // namespace

struct OpTable::Body {
  mutable ForkSafeSharedMutex mutex;
  std::vector<const OpInfo*> rows;  // by index, which is never given twice: null where a row was taken back
  std::vector<const FunctionInfo*> functions;
  std::unordered_map<std::string_view, const OpInfo*> by_name;
  std::unordered_set<std::string_view> replaceable;  // what set() has added

  void require_room(std::string_view name) const {
    require<ValueError>(rows.size() < kMost, "[operation] the table is full: got '{}' after {} operations", name, int64_t(kMost));
  }
  void append(OpInfo* row) {
    require_room(row->name());
    row->index = uint16_t(rows.size());
    rows.push_back(row);
    by_name.emplace(row->name(), row);
  }
  bool is_current(const OpInfo* row) const {
    const auto it = by_name.find(row->name());
    return it != by_name.end() && it->second == row;
  }
  void take_back(const OpInfo* row) {
    std::unique_lock lock(mutex);
    if (is_current(row)) by_name.erase(row->name());
    rows[row->index] = nullptr;  // the same row may come again, under another index
  }
};

OpTable::OpTable() : body_(new Body) {}  // never freed: rows outlive everything

OpTable& OpTable::global() {
  static OpTable* table = new OpTable;
  return *table;
}

void OpTable::add(std::span<OpInfo* const> rows) {
  for (const OpInfo* row : rows) check_row(*row);
  std::unique_lock lock(body_->mutex);
  std::vector<OpInfo*> fresh;
  std::unordered_set<std::string_view> names;
  for (OpInfo* row : rows) {
    const auto it = body_->by_name.find(row->name());
    const bool known = it != body_->by_name.end();
    const bool taken = known ? it->second != row : !names.insert(row->name()).second;
    require<ValueError>(!taken, "an operation with the name '{}' already exists", row->name());
    if (!known) fresh.push_back(row);
  }
  require<ValueError>(body_->rows.size() + fresh.size() <= kMost, "[operation] the table is full: got {} more after {} of {} operations",
      int64_t(fresh.size()), int64_t(body_->rows.size()), int64_t(kMost));
  for (OpInfo* row : fresh) {
    body_->append(row);
    undo_registration_by([body = body_, row] { body->take_back(row); });
  }
}

void OpTable::set(OpInfo* row) {
  check_row(*row);
  std::unique_lock lock(body_->mutex);
  const auto it = body_->by_name.find(row->name());
  if (it == body_->by_name.end()) {
    body_->append(row);
    body_->replaceable.insert(row->name());
    return;
  }
  require<ValueError>(body_->replaceable.contains(row->name()), "an operation with the name '{}' already exists in C++", row->name());
  const OpInfo& before = *it->second;
  // Backends remember under the index whether they support the operation. The answer depends on its name and on this.
  if (bool(before.decompose) != bool(row->decompose) || before.kind != row->kind || before.key != row->key) {
    body_->require_room(row->name());  // before the old row goes
    body_->by_name.erase(it);
    return body_->append(row);
  }
  body_->by_name.erase(it);  // its key is a part of the old row
  row->index = before.index;
  body_->rows[row->index] = row;
  body_->by_name.emplace(row->name(), row);
}

void OpTable::add(std::span<const FunctionInfo> functions) {
  std::unique_lock lock(body_->mutex);
  for (const FunctionInfo& f : functions) body_->functions.push_back(&f);
  undo_registration_by([body = body_, functions] {
    std::unique_lock again(body->mutex);
    for (const FunctionInfo& f : functions) std::erase(body->functions, &f);
  });
}

const OpInfo* OpTable::find(std::string_view name) const {
  std::shared_lock lock(body_->mutex);
  const auto it = body_->by_name.find(name);
  return it == body_->by_name.end() ? nullptr : it->second;
}

const OpInfo* OpTable::discover(std::string_view name) const {
  const OpInfo* row = find(name);
  auto* more = discovery.load();
  if (row || !more) return row;
  more();
  return find(name);
}

void set_operation_discovery(void (*more)()) { discovery = more; }

std::vector<const OpInfo*> OpTable::rows() const {
  std::shared_lock lock(body_->mutex);
  std::vector<const OpInfo*> current;
  for (const OpInfo* row : body_->rows)
    if (row && body_->is_current(row)) current.push_back(row);
  return current;
}

std::span<const FunctionInfo* const> OpTable::functions() const { return body_->functions; }

}  // namespace pyburn
