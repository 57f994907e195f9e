// Matrix products.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

// beta * start + alpha * product.
struct Blend {
  Scalar beta = 1, alpha = 1;
  PB_FIELDS(beta, alpha)

  bool is_sum() const { return beta.to_double() == 1 && alpha.to_double() == 1; }
  static Blend from(const TensorHandle&, const TensorHandle&, const TensorHandle&, const Scalar& beta, const Scalar& alpha) {
    return {beta, alpha};
  }
};

namespace op {
extern OpInfo bmm;       // (B, M, K) x (B, K, N): what every product becomes
extern OpInfo bmm_plus;  // the same, added to what is given
extern OpInfo linear;    // rows times a turned matrix, plus one row: a layer
}  // namespace op

}  // namespace pyburn
