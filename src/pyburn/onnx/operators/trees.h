// Ensembles of decision trees as tables, walked by all rows and trees at once.
#pragma once
#include "pyburn/onnx/call.h"

namespace pyburn::onnx {

enum class Branch : uint8_t { leq, lt, gte, gt, eq, neq };

// Nodes of all trees; a leaf leads to itself.
struct Trees {
  std::vector<int64_t> feature, yes, no, roots;
  std::vector<Branch> mode;
  std::vector<double> split;
  std::vector<uint8_t> missing_is_yes;
  int64_t targets = 0;
  struct Weight {
    int64_t node, target;
    double value;
  };
  std::vector<Weight> weights;  // of leaves

  int64_t add(int64_t features_of, Branch mode, double split, bool missing_is_yes);  // returns the node, a leaf until it gets branches
};

enum class Fold : uint8_t { average, sum, min, max };
// (N, targets) from x (N, F).
TensorHandle walk(const Trees& trees, const TensorHandle& x, Fold fold);

// Scores after "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO" or "PROBIT".
TensorHandle transformed(const TensorHandle& scores, const std::string& how);

// The labels of a classifier at places (N): integers or strings, as the node names them.
Value labels_at(Call& c, const TensorHandle& places, const char* integers, const char* texts);
int64_t label_count(Call& c, const char* integers, const char* texts);
// Labels and scores of a classifier. A single score is that of the second of two classes.
Results classified(Call& c, TensorHandle scores, bool weights_are_positive, const char* integers, const char* texts);

}  // namespace pyburn::onnx
