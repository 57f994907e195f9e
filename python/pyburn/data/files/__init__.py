"""File readers. Functions return NumPy arrays and Python values; data sets return items by index."""

from ..._core import FormatError
from . import limits
from .idx import read_idx, write_idx
from .line_files import JSONLinesDataset, LinesDataset, read_json_lines, read_lines
from .mat import SparseColumns, read_mat
from .message_pack import unpack_message
from .numpy_arrays import NumpyDataset
from .parquet import ParquetDataset, read_parquet
from .pickled_arrays import SparseRows, read_pickled_arrays
from .planetoid import CitationGraph, read_planetoid
from .sqlite import SqliteDataset, SqliteDatasetWriter
from .table import CSVDataset, Table, TableDataset, read_csv
from .tu_graphs import SmallGraph, read_graph_text, read_tu_folder
from .wav import read_wav, write_wav

__all__ = [
    "CSVDataset",
    "CitationGraph",
    "FormatError",
    "JSONLinesDataset",
    "LinesDataset",
    "NumpyDataset",
    "ParquetDataset",
    "SmallGraph",
    "SparseColumns",
    "SparseRows",
    "SqliteDataset",
    "SqliteDatasetWriter",
    "Table",
    "TableDataset",
    "limits",
    "read_csv",
    "read_graph_text",
    "read_idx",
    "read_json_lines",
    "read_lines",
    "read_mat",
    "read_parquet",
    "read_pickled_arrays",
    "read_planetoid",
    "read_tu_folder",
    "read_wav",
    "unpack_message",
    "write_idx",
    "write_wav",
]
