"""torch.utils.data._utils.collate."""

import re

from ....data.collate import default_collate, default_convert

__all__ = ["default_collate", "default_convert", "np_str_obj_array_pattern"]

np_str_obj_array_pattern = re.compile(r"[SaUO]")  # numpy dtypes that are not converted to tensors
