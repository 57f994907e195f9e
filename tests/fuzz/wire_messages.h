// The messages between a client and a server, as data that can be changed: made valid from the table of operations, then mutated.
#pragma once
#include "harness/random.h"
#include "pyburn/decorators/remote/protocol.h"

namespace pyburn::fuzz {

// Messages one after the other, each with its length (32 bits) before it. Any bytes can be split.
std::vector<BytesView> split_messages(BytesView stream);
Bytes join_messages(const std::vector<Bytes>& messages);

// One command with every field that any command has.
struct Step {
  remote::Command command = remote::Command::synchronize;
  uint64_t number = 0;    // version of hello; id of allocate and release
  uint64_t elements = 0;  // of allocate
  DType dtype = DType::float32;
  std::string text;  // name of an operation
  Operation op;
  std::vector<std::optional<remote::RemoteTensor>> in, out;
  std::vector<uint64_t> ids;  // of dynamic results
  Bytes data;
};
using Message = std::vector<Step>;  // a request

OpNames server_names();  // the numbers that a server gives to operations
Bytes encode(const Message&, OpNames&);
Message decode(BytesView, OpNames&);  // FormatError

// Requests that allocate, write, compute, read and free, all valid unless inference refused the operation.
std::vector<Message> make_session(Random&);
void mutate(std::vector<Message>&, Random&);

}  // namespace pyburn::fuzz
