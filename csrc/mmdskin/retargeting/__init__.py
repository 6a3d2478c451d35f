# SPDX-License-Identifier: MIT
"""Retargeting: any dance on any humanoid rig. Loaded by the package when one of its names is used."""

from mmdskin.retargeting.bvh import load_bvh
from mmdskin.retargeting.skeleton import Skeleton

__all__ = ["Skeleton", "load_bvh"]
