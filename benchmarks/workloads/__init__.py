"""Everything that is measured, in the order of the results."""

# The order of the imports is that of the results.
from . import products, convolutions, elementwise, rows, indexing, layers, small  # noqa: I001
from .workload import WORKLOADS, Workload
