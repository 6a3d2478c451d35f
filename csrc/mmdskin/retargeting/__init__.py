# SPDX-License-Identifier: MIT
"""Retargeting: any dance on any humanoid rig. Loaded by the package when one of its names is used."""

from mmdskin.retargeting.bvh import load_bvh
from mmdskin.retargeting.gltf import load_gltf
from mmdskin.retargeting.skeleton import Skeleton
from mmdskin.retargeting.transfer import Retargeted, retarget

__all__ = ["Retargeted", "Skeleton", "load_bvh", "load_gltf", "retarget"]
