// Trains a convolutional network on MNIST, saves it, loads it again and counts how often it is right. No Python.
//   train_mnist FOLDER [STEPS] [FILE]
// FOLDER holds the four idx files, unpacked: train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-..., t10k-labels-...
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "pyburn/pyburn.h"

using namespace pyburn;

namespace {

// The same names in Python make the same state dict: a class with conv1, norm1, conv2, norm2 and fc.
class Digits : public nn::Module {
 public:
  Digits() {
    register_module("conv1", conv1);
    register_module("norm1", norm1);
    register_module("conv2", conv2);
    register_module("norm2", norm2);
    register_module("fc", fc);
  }
  TensorHandle forward(const TensorHandle& images) override {
    const Tensor x = relu((*norm1)(conv1->call(images)));
    const Tensor y = relu((*norm2)(conv2->call(x)));
    return fc->call(flatten(y, 1));
  }
  std::string type_name() const override { return "Digits"; }

 private:
  Ref<nn::Conv2d> conv1 = make_ref<nn::Conv2d>(
      nn::ConvConfig<2>{.in_channels = 1, .out_channels = 16, .kernel_size = {3}, .stride = {2}, .padding = {{1}, ""}});
  Ref<nn::BatchNorm2d> norm1 = make_ref<nn::BatchNorm2d>(nn::BatchNormConfig{.num_features = 16});
  Ref<nn::Conv2d> conv2 = make_ref<nn::Conv2d>(
      nn::ConvConfig<2>{.in_channels = 16, .out_channels = 32, .kernel_size = {3}, .stride = {2}, .padding = {{1}, ""}});
  Ref<nn::BatchNorm2d> norm2 = make_ref<nn::BatchNorm2d>(nn::BatchNormConfig{.num_features = 32});
  Ref<nn::Linear> fc = make_ref<nn::Linear>(32 * 7 * 7, 10);
};

// An idx file of bytes: two zeros, 8 for bytes, the number of axes, their extents (big-endian), the elements.
Tensor read_idx(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  unsigned char head[4] = {};
  file.read(reinterpret_cast<char*>(head), 4);
  require<FormatError>(bool(file) && head[2] == 8 && head[3] >= 1 && head[3] <= 4, "not an idx file of bytes: {}", path.string());
  Shape shape;
  for (int i = 0; i < head[3]; ++i) {
    unsigned char size[4] = {};
    file.read(reinterpret_cast<char*>(size), 4);
    shape.push_back(int64_t(size[0]) << 24 | size[1] << 16 | size[2] << 8 | size[3]);
  }
  std::vector<char> bytes(size_t(std::filesystem::file_size(path)) - 4 - 4 * head[3]);
  require<FormatError>(
      shape.numel() == int64_t(bytes.size()), "expected {} elements: got {}, in {}", shape.numel(), bytes.size(), path.string());
  file.read(bytes.data(), std::streamsize(bytes.size()));
  return from_host(default_device(), {bytes.data(), {shape, DType::uint8}});
}

struct Set {
  Tensor images, labels;  // (N, 1, 28, 28) of bytes, (N) of integers
  int64_t size() const { return labels.shape()[0]; }
};

Set load(const std::filesystem::path& folder, const std::string& part) {
  return {
      unsqueeze(read_idx(folder / (part + "-images-idx3-ubyte")), 1), cast(read_idx(folder / (part + "-labels-idx1-ubyte")), DType::int64)};
}

Tensor as_input(const Tensor& bytes) { return (cast(bytes, DType::float32) / 255.0 - 0.1307) / 0.3081; }

void train(nn::Module& model, const Set& set, int steps) {
  constexpr int64_t batch = 64;
  optim::Adam optimiser(model.parameters(), {.lr = 1e-3});
  Tensor order;
  model.train();
  for (int step = 0; step < steps; ++step) {
    const int64_t at = step % (set.size() / batch) * batch;
    if (at == 0) order = randperm(set.size());
    const Tensor chosen = narrow(order, 0, at, batch);
    const Tensor loss = cross_entropy(model(as_input(index_select(set.images, 0, chosen))), index_select(set.labels, 0, chosen));
    optimiser.zero_grad();
    autograd::backward(loss);
    optimiser.step();
    if ((step + 1) % 50 == 0 || step + 1 == steps)
      std::printf("step %d of %d  loss %.4f\n", step + 1, steps, read_number(loss)), std::fflush(stdout);
  }
}

double accuracy(nn::Module& model, const Set& set) {
  const autograd::NoGrad no_grad;
  model.eval();
  constexpr int64_t batch = 500;
  double right = 0;
  for (int64_t at = 0; at < set.size(); at += batch) {
    const int64_t n = std::min(batch, set.size() - at);
    const Tensor said = argmax(model(as_input(narrow(set.images, 0, at, n))), 1);
    right += read_number(sum(eq(said, narrow(set.labels, 0, at, n))));
  }
  return right / double(set.size());
}

int run(const std::filesystem::path& folder, int steps, const char* file) {
  start();
  default_generator().manual_seed(0);
  const Set training = load(folder, "train"), test = load(folder, "t10k");
  const auto model = make_ref<Digits>();
  train(*model, training, steps);

  io::save_safetensors(model->state_dict(), file);
  const auto restored = make_ref<Digits>();
  restored->load_state_dict(io::load_safetensors(file));
  const double trained = accuracy(*model, test), reloaded = accuracy(*restored, test);
  std::printf("accuracy %.2f%%, after reloading %s %.2f%%\n", 100 * trained, file, 100 * reloaded);
  return trained == reloaded && trained > 0.5 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: train_mnist FOLDER [STEPS] [FILE]\n");
    return 2;
  }
  try {
    return run(argv[1], argc > 2 ? std::max(1, std::atoi(argv[2])) : 1000, argc > 3 ? argv[3] : "mnist.safetensors");
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
