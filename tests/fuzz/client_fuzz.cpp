// A hostile server: whatever it answers, a client returns or raises an Error. An empty message stands for the answer of an honest server,
// so that a hostile answer can come at any time.
#include <cstring>

#include "harness/target.h"
#include "pyburn/decorators/remote/client.h"
#include "pyburn/decorators/remote/server.h"
#include "pyburn/ops/binary.h"
#include "pyburn/ops/index.h"
#include "pyburn/runtime/device_identity.h"
#include "pyburn/runtime/run.h"
#include "pyburn/support/error.h"
#include "wire_messages.h"

namespace pyburn::fuzz {
namespace {

Ref<Backend> cpu() {
  static const Ref<Backend> backend = make_backend("ndarray");
  return backend;
}

class ScriptedChannel final : public remote::Channel {
 public:
  explicit ScriptedChannel(BytesView script, std::vector<Bytes>* record = nullptr)
      : server_(cpu()), script_(split_messages(script)), record_(record) {}
  void send(BytesView message) override {
    answer_ = server_.answer(message);
    if (record_) record_->push_back(answer_);
    if (next_ < script_.size() && !script_[next_].empty()) answer_.assign(script_[next_].begin(), script_[next_].end());
    ++next_;
  }
  Bytes receive() override { return answer_; }

 private:
  remote::Server server_;
  std::vector<BytesView> script_;
  std::vector<Bytes>* record_;
  size_t next_ = 0;
  Bytes answer_;
};

// One call of everything that a client asks a server. False if one of them raised.
bool use(std::unique_ptr<remote::Channel> channel) {
  bool all = true;
  const auto attempt = [&](auto body) {
    try {
      body();
    } catch (const Error&) {
      all = false;
    }
  };
  Ref<remote::Client> client;
  attempt([&] { client = make_ref<remote::Client>(std::move(channel)); });
  if (!client) return false;
  const auto tensor = [&](DType dtype) {
    return make_tensor(default_device(), dtype, contiguous_layout({2, 3}), client->allocate(dtype, 6));
  };
  std::vector<float> values(6, 1.5f);
  const HostArray host{values.data(), {{2, 3}, DType::float32}};
  TensorHandle x, y;
  Tensors found(1, {});
  attempt([&] { x = tensor(DType::float32), y = tensor(DType::float32); });
  if (!x.defined() || !y.defined()) return false;
  const Operation plus(op::add, AttrBox::fresh(*op::add.attrs)), nonzero(op::nonzero, AttrBox::fresh(*op::nonzero.attrs));
  const OpRef add = plus.ref();
  InputList two, one;
  two.add(x), two.add(y), one.add(x);
  attempt([&] { client->upload(host, x); });
  attempt([&] { client->support(op::add, DType::float32); });
  attempt([&] { client->supports_call(add, two, {&y, 1}); });
  attempt([&] { client->execute(add, two, {&y, 1}); });
  attempt([&] { client->execute(nonzero.ref(), one, {found.data(), 1}); });
  attempt([&] { client->download(y, host); });
  if (found[0].defined() && found[0].numel() < 1000)
    attempt([&] {
      Bytes bytes(size_t(bytes_of(found[0].dtype(), found[0].numel())));
      client->download(found[0], {bytes.data(), found[0].meta()});
    });
  attempt([&] { client->synchronize(); });
  attempt([&] { client->memory(); });
  return all;
}

// Each answer of an honest server by itself, the ones before it left open.
std::vector<Bytes> seeds() {
  std::vector<Bytes> answers, made;
  require<ValueError>(use(std::make_unique<ScriptedChannel>(BytesView(), &answers)), "an honest server is refused");
  for (size_t i = 0; i < answers.size(); ++i) {
    std::vector<Bytes> script(i);
    script.push_back(answers[i]);
    made.push_back(join_messages(script));
  }
  return made;
}

void mutate_answers(Bytes& input, Random& random, const std::vector<Bytes>& seeds) {
  std::vector<Bytes> script;
  for (BytesView m : split_messages(input)) script.emplace_back(m.begin(), m.end());
  for (uint64_t n = 1 + random.below(3); n > 0 && !script.empty(); --n) {
    Bytes& answer = random.any_of(script);
    switch (random.below(6)) {
      case 0:
        std::swap(answer, random.any_of(script));
        break;
      case 1:
        script.push_back(Bytes(answer));
        break;
      default:
        mutate_bytes(answer, random, seeds);
    }
  }
  input = join_messages(script);
}

Outcome run(BytesView input) { return use(std::make_unique<ScriptedChannel>(input)) ? Outcome::accepted : Outcome::refused; }

}  // namespace

const Target target{"client_fuzz", seeds, mutate_answers, run};

}  // namespace pyburn::fuzz
