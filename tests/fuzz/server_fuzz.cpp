// A hostile client: whatever it sends, a server answers a result or an error, within its limits; it never crashes or hangs.
#include "harness/target.h"
#include "pyburn/decorators/remote/server.h"
#include "pyburn/runtime/device_identity.h"
#include "pyburn/support/error.h"
#include "wire_messages.h"

namespace pyburn::fuzz {
namespace {

constexpr remote::ServerLimits kLimits{.storage_bytes = 16 << 20, .stretched_bytes = 1 << 20};

std::vector<Bytes> seeds() {
  std::vector<Bytes> made;
  OpNames names = server_names();
  for (uint64_t k = 0; k < 64; ++k) {
    Random random(k);
    std::vector<Bytes> messages;
    for (const Message& m : make_session(random)) messages.push_back(encode(m, names));
    made.push_back(join_messages(messages));
  }
  return made;
}

// Half of the inputs are new sessions. Messages that can be read are changed field by field, the others byte by byte.
void mutate_stream(Bytes& input, Random& random, const std::vector<Bytes>& seeds) {
  static OpNames names = server_names();
  std::vector<Message> messages;
  if (random.coin()) {
    messages = make_session(random);
  } else {
    for (BytesView bytes : split_messages(input)) {
      try {
        messages.push_back(decode(bytes, names));
      } catch (const Error&) {
        return mutate_bytes(input, random, seeds);
      }
    }
  }
  mutate(messages, random);
  std::vector<Bytes> encoded;
  for (const Message& m : messages) encoded.push_back(encode(m, names));
  if (random.one_in(8) && !encoded.empty()) mutate_bytes(random.any_of(encoded), random, seeds);
  input = join_messages(encoded);
}

// An answer is a result, or an error of a class that the client knows.
bool is_result(BytesView answer) {
  OpNames none;
  WireReader r(answer, none);
  if (r.boolean()) return true;
  const auto raise = remote::decode_error(r);
  r.end();
  try {
    raise();
  } catch (const Error&) {
    return false;
  }
  fail<ValueError>("an answer that says error raises nothing");
}

// Operations run at once or are queued, by the length of the input.
Outcome run(BytesView input) {
  static const Ref<Backend> backends[] = {make_backend("ndarray"), make_backend("fusion(ndarray)")};
  Backend& backend = *backends[input.size() % 2];
  remote::Server server(Ref<Backend>(&backend), kLimits);
  bool all = true;
  for (BytesView message : split_messages(input)) {
    all &= is_result(server.answer(message));
    require<ValueError>(server.storage_bytes() <= kLimits.storage_bytes, "the server holds too much: got {} bytes", server.storage_bytes());
  }
  backend.synchronize();
  return all ? Outcome::accepted : Outcome::refused;
}

}  // namespace

const Target target{"server_fuzz", seeds, mutate_stream, run};

}  // namespace pyburn::fuzz
