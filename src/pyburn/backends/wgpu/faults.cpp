#include "pyburn/backends/wgpu/faults.h"

#include "pyburn/support/error.h"

namespace pyburn::wgpu {

// The last slot is for all that find no other one.
uint32_t Faults::add(const std::string& message, bool of_value) {
  if (messages_.size() < kSlots - 1) {
    messages_.push_back({message, of_value});
    return uint32_t(messages_.size() - 1);
  }
  if (messages_.size() < kSlots) messages_.push_back({message, of_value});
  if (messages_.back().text != message) messages_.back() = {"a value is out of range: got {}", of_value};
  return kSlots - 1;
}

// What an older epoch left is settled: its slots have been read.
void Faults::settle(Suspicion& s) {
  if (s.epoch == epoch_) return;
  if (s.slots && !s.error)
    if (const auto failed = failed_.find(s.epoch); failed != failed_.end())
      for (const auto& [slot, error] : failed->second)
        if (s.slots & slot) s.error = error;
  s.epoch = epoch_;
  s.slots = 0;
}

Suspicion Faults::begin(uint64_t own_slots) {
  // Another thread may have begun an epoch since the slot was given: there, it has no message yet.
  while (messages_.size() < kSlots && own_slots >> messages_.size()) messages_.push_back({"a value is out of range: got {}", false});
  return {epoch_, own_slots, nullptr};
}
void Faults::collect(Suspicion& from, Suspicion& all) {
  settle(from);
  all.slots |= from.slots;
  if (from.error) all.error = from.error;
}
void Faults::pass_on(const Suspicion& all, Suspicion& to) {
  to.epoch = epoch_;
  to.slots |= all.slots;
  if (all.error) to.error = all.error;
}

bool Faults::report(const uint32_t* words) {
  std::vector<std::pair<uint64_t, std::exception_ptr>> failed;
  for (size_t slot = 0; slot < messages_.size(); ++slot) {
    if (!words[2 * slot]) continue;
    std::string text = messages_[slot].text;
    if (const size_t hole = text.find("{}"); hole != text.npos) text.replace(hole, 2, std::to_string(int32_t(words[2 * slot + 1])));
    failed.emplace_back(uint64_t(1) << slot,
        messages_[slot].of_value ? std::make_exception_ptr(ValueError(text)) : std::make_exception_ptr(IndexError(text)));
  }
  const bool any = !failed.empty();
  if (any) failed_[epoch_] = std::move(failed);
  messages_.clear();
  ++epoch_;
  return any;
}

void Faults::raise_if_spoiled(Suspicion& s) {
  settle(s);
  if (s.error) std::rethrow_exception(s.error);
}

}  // namespace pyburn::wgpu
