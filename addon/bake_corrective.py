class CorrectiveError(Exception):
    pass
from .bake_shape_keys import ShapeKeys as Corrective
