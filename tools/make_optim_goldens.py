"""Makes tests/golden/optim.json.gz: what PyTorch's optimisers, schedulers and averaged models do on the cases of
tests/conformance/optim_cases.py.

    python tools/make_optim_goldens.py [--torch PYTHON]

PYTHON is an interpreter that has torch, if this one has not; the tests need neither it nor this script.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden" / "optim.json.gz"
sys.path.insert(0, str(ROOT / "tests" / "conformance"))

import optim_cases as cases  # noqa: E402


def saved_layout(state_dict: dict[str, Any]) -> dict[str, Any]:
    """Names and shapes of what an optimiser saves."""
    import torch

    def shape(value: Any) -> Any:
        return list(value.shape) if isinstance(value, torch.Tensor) else type(value).__name__

    return {
        "state": {str(i): {key: shape(value) for key, value in values.items()} for i, values in state_dict["state"].items()},
        "groups": [sorted(group) for group in state_dict["param_groups"]],
    }


def saved_values(state_dict: dict[str, Any]) -> dict[str, Any]:
    """An optimiser's state as numbers, to be loaded."""
    import torch

    def plain(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return {"tensor": value.reshape(-1).tolist(), "shape": list(value.shape)}
        return [plain(v) for v in value] if isinstance(value, list) else value

    state = {str(i): {key: plain(value) for key, value in values.items()} for i, values in state_dict["state"].items()}
    return {"state": state, "param_groups": state_dict["param_groups"]}


def record() -> dict[str, Any]:
    import torch

    warnings.simplefilter("ignore")
    result: dict[str, Any] = {"torch": torch.__version__.split("+")[0], "optimizers": [], "lbfgs": [], "schedulers": [], "saved": {}}
    for name, options in cases.optimizer_cases():
        after, optimizer = cases.run_optimizer(torch, name, options)
        row = {"name": name, "options": options, "after": after, "layout": saved_layout(optimizer.state_dict()), "repr": repr(optimizer)}
        result["optimizers"].append(row)
        if name not in result["saved"]:
            result["saved"][name] = saved_values(optimizer.state_dict())
    for options in cases.LBFGS:
        places, optimizer = cases.rosenbrock(torch, options)
        evaluations = optimizer.state_dict()["state"][0]["func_evals"]
        result["lbfgs"].append({"options": options, "places": places, "func_evals": evaluations})
        result["saved"]["LBFGS"] = saved_values(optimizer.state_dict())
    for name, options in cases.SCHEDULERS:
        result["schedulers"].append({"name": name, "options": options, **cases.run_scheduler(torch, name, options)})
    result["names"] = {
        "optim": list(torch.optim.__all__),
        "lr_scheduler": torch.optim.lr_scheduler.__all__,
        "swa_utils": torch.optim.swa_utils.__all__,
        "amp": ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"],
    }
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--record", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.record:
        json.dump(record(), sys.stdout)
        return
    text = subprocess.run([arguments.torch, __file__, "--record"], check=True, stdout=subprocess.PIPE).stdout
    GOLDEN.write_bytes(gzip.compress(text, 9, mtime=0))
    print(f"{GOLDEN.relative_to(ROOT)}: {GOLDEN.stat().st_size} bytes")


if __name__ == "__main__":
    main()
