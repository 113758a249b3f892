"""What stands around an entry in ps1: imports, the other exercises (right), a main block."""

header = """
import math
import numpy as np
import numpy as numpy   # sometimes I forget
"""

main = """
if __name__ == "__main__":
    rng = np.random.default_rng(0)
    print(rng.normal(size=(2, 2)))
"""

RIGHT = {
    "project": """
def project(W, X):
    return W @ X
""",
    "attention_scores": """
def attention_scores(Q, K):
    return K.T @ Q
""",
    "scale_scores": """
def scale_scores(scores, d_k):
    return scores / np.sqrt(d_k)
""",
    "softmax": """
def softmax(scores):
    e = np.exp(scores - scores.max(axis=0, keepdims=True))
    return e / e.sum(axis=0, keepdims=True)
""",
    "attend": """
def attend(V, weights):
    return V @ weights
""",
}
