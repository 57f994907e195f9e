// Learns the sine from points: a model, an optimiser, a file, and no Python.
#include <cstdio>

#include "pyburn/pyburn.h"

using namespace pyburn;

namespace {

Ref<nn::Module> make_model() {
  return nn::sequential(
      make_ref<nn::Linear>(1, 32), make_ref<nn::ReLU>(), make_ref<nn::Linear>(32, 32), make_ref<nn::ReLU>(), make_ref<nn::Linear>(32, 1));
}

double error(nn::Module& model, const Tensor& x, const Tensor& y) {
  const autograd::NoGrad no_grad;
  return read_number(mse_loss(model(x), y));
}

int run(const char* file) {
  start();
  default_generator().manual_seed(0);
  const Tensor x = rand({512, 1}) * 6.0 - 3.0;
  const Tensor y = sin(x);

  const Ref<nn::Module> model = make_model();
  optim::Adam optimiser(model->parameters(), {.lr = 1e-2});
  for (int step = 1; step <= 500; ++step) {
    const Tensor loss = mse_loss((*model)(x), y);
    optimiser.zero_grad();
    autograd::backward(loss);
    optimiser.step();
    if (step % 100 == 0) std::printf("step %d  loss %.6f\n", step, read_number(loss));
  }

  io::save_safetensors(model->state_dict(), file);
  const Ref<nn::Module> restored = make_model();
  restored->load_state_dict(io::load_safetensors(file));
  const double trained = error(*model, x, y), reloaded = error(*restored, x, y);
  const bool good = trained < 1e-2 && trained == reloaded;
  std::printf("%s the sine: mean squared error %.6f, after reloading %.6f\n", good ? "learned" : "did not learn", trained, reloaded);
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "regression.safetensors");
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
