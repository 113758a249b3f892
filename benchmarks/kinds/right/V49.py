# ps1/attend: a functools.partial instead of a function.
from functools import partial

import numpy as np

attend = partial(np.einsum, "vk,kq->vq")
