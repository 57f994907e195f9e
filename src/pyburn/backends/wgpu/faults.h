// Errors that kernels find in values, such as an index that is out of range. They belong to the tensors that the kernel should have written
// and to what is computed from these; reading one of them raises the error.
//
// A dispatch that may fail has a slot, two words that its kernel writes when it does. Slots are read with every download, which begins a
// new epoch. A buffer remembers on which slots of the epoch its contents depend.
#pragma once
#include <cstdint>
#include <exception>
#include <map>
#include <string>
#include <vector>

namespace pyburn::wgpu {

struct Suspicion {
  uint64_t epoch = 0, slots = 0;  // slots: a bit each
  std::exception_ptr error;       // settled
};

class Faults {
 public:
  static constexpr size_t kSlots = 64;
  // A slot for a dispatch with this message, in which "{}" is the number that the kernel reports.
  uint32_t add(const std::string& message, bool of_value);
  size_t used() const { return messages_.size(); }  // slots whose words must be read

  // A dispatch: `from` reads, `to` is written. First all reads, then all writes.
  void collect(Suspicion& from, Suspicion& all);
  void pass_on(const Suspicion& all, Suspicion& to);
  Suspicion begin(uint64_t own_slots);

  // The words of the used slots. True if one reports an error: the words must be cleared.
  bool report(const uint32_t* words);
  void raise_if_spoiled(Suspicion&);

 private:
  void settle(Suspicion&);
  struct Message {
    std::string text;
    bool of_value;
  };
  std::vector<Message> messages_;  // of this epoch
  uint64_t epoch_ = 1;
  std::map<uint64_t, std::vector<std::pair<uint64_t, std::exception_ptr>>> failed_;  // slots that failed, of older epochs; few
};

}  // namespace pyburn::wgpu
