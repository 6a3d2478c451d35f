# SPDX-License-Identifier: MIT
"""Reads with xarray and pyarrow what the examples wrote: read_back.py STORE GROUP OUTPUT.npz

OUTPUT.npz has the group's variables, and OUTPUT.json beside it their dimensions and the manifest.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import xarray as xr

store, name, output = sys.argv[1:]
group = xr.open_zarr(store, group=name, consolidated=False)
np.savez(output, **{key: group[key].values for key in group.variables})
found = {
    "dimensions": {key: group[key].dims for key in group.variables},
    "manifest": pq.read_table(os.path.splitext(store)[0] + ".parquet").to_pylist(),
}
Path(output).with_suffix(".json").write_text(json.dumps(found), "utf-8")
