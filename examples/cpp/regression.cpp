// Fits y = sin(3 x) with a small network: no Python, from the data to the saved model.
#include <cstdio>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/io/safetensors.h"
#include "pyburn/nn/nn.h"
#include "pyburn/ops/functions.h"
#include "pyburn/ops/operators.h"
#include "pyburn/optim/optimizer.h"
#include "pyburn/runtime/generator.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/start.h"

using namespace pyburn;

int main(int argc, char** argv) {
  start();
  default_generator().manual_seed(0);

  const Tensor x = rand({256, 1}) * 2 - 1;
  const Tensor y = sin(x * 3);

  auto model = nn::sequential(make_ref<nn::Linear>(1, 32), make_ref<nn::ReLU>(), make_ref<nn::Linear>(32, 32), make_ref<nn::ReLU>(),
                              make_ref<nn::Linear>(32, 1));
  std::printf("%s\n", to_text(*model).c_str());

  optim::Adam optimizer(model->parameters(), {.lr = 1e-2});
  double loss_now = 0;
  for (int step = 0; step <= 300; ++step) {
    optimizer.zero_grad();
    const Tensor loss = mse_loss((*model)(x), y);
    autograd::backward(loss);
    optimizer.step();
    if (step % 100 == 0) std::printf("step %3d  loss %.5f\n", step, loss_now = read_number(loss));
  }

  if (argc > 1) {
    io::save_safetensors(model->state_dict(), argv[1]);
    std::printf("saved to %s\n", argv[1]);
  }
  return loss_now < 1e-2 ? 0 : 1;
}
