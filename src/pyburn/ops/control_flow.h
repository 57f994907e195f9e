// Operations that run graphs: branches, loops, scans. The graphs have no constants: what they read from outside is among the inputs.
#pragma once
#include "pyburn/ir/graph.h"

namespace pyburn {

// pred, operands -> the results of the branch.
struct Cond {
  SubGraph then_branch, else_branch;  // operands -> results
  PB_FIELDS(then_branch, else_branch)
};

// carried values, operands -> carried values. A carried axis that is free in both graphs may change from step to step.
struct WhileLoop {
  SubGraph condition, body;  // carried, operands -> one bool; carried, operands -> carried
  int64_t carried = 0;
  int64_t most = 0;  // steps; 0: any number
  PB_FIELDS(condition, body, carried, most)
};

// carried values, sequences, operands -> carried values, stacked results. The body runs for each entry of the sequences along dim.
struct Scanned {
  SubGraph body;  // carried, entries, operands -> carried, results
  int64_t carried = 0, sequences = 0;
  int64_t dim = 0;  // of the sequences; results are stacked along the first
  bool reverse = false;
  PB_FIELDS(body, carried, sequences, dim, reverse)
};

// One pass over carried values. The functions that users call and the operations share what runs them.
using Step = std::function<Tensors(const Tensors&)>;
bool read_condition(const TensorHandle& flag);
Tensors run_while(const Step& condition, const Step& body, Tensors carried, int64_t most);
// `body` maps carried values and entries to carried values and results; `results` gives the latter's shapes where there is no entry.
Tensors run_scan(
    const Step& body, Tensors carried, const Tensors& sequences, int64_t dim, bool reverse, const std::function<MetaList()>& results);

// What runs one of the graphs. A session hands in one that has prepared them.
using RunSubGraph = std::function<Tensors(const Graph& g, Inputs inputs)>;
// What `op`, one of the operations below, does with these inputs.
Tensors run_control_flow(OpRef op, Inputs in, const RunSubGraph& run);

namespace op {
extern OpInfo cond, while_loop, scan;
extern OpInfo extent_of;  // n -> a tensor of n elements without memory, whose extent stands for n in attributes of later operations
}  // namespace op

}  // namespace pyburn
