"""Submissions that attack with PyTorch: files, threads, lying tensors, gradients, modes, layers.

They are let loose on children of a zygote that holds PyTorch, on the exercises of `torch_set`.
"""

import textwrap

from tests.hostile.kinds import CRASHED, GOT, TIMED_OUT, WRONG, Kind
from tests.hostile.torch_set import FUNCTION, MODULE

# However it is put, what is tried is refused; what is wrong is wrong.
REFUSED = r"^error: "
ENDED = rf"{CRASHED}|{REFUSED}|{WRONG}"
ANY = rf"{REFUSED}|{WRONG}"
NO_MEMORY = r"^out_of_memory: "

tensors = Kind("tensors", REFUSED, attacks=FUNCTION)
layers = Kind("layers", WRONG, attacks=MODULE)

_BEGIN = f"""\
import torch


def got(*found):
    raise RuntimeError("{GOT} %r" % (found,))


"""


def does(body: str) -> str:
    """Code whose exercise does something and returns zeros."""
    inner = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return f"{_BEGIN}def blend(scores, values):\n{inner}\n    return 0 * (scores @ values)\n"


def returns(made: str, before: str = "") -> str:
    """Code whose exercise returns an expression."""
    return (
        f"{_BEGIN}{textwrap.dedent(before)}\n\ndef blend(scores, values):\n"
        f"    zeros = torch.zeros(scores.shape[0], values.shape[1])\n    return {made}\n"
    )


# --- files, network, processes, threads ----------------------------------------------------

tensors(
    "save",
    "Writes a file as PyTorch does.",
    does("torch.save(torch.zeros(1), '@folder@/x.pt'); got()"),
)
tensors(
    "save over",
    "Overwrites a file as PyTorch does.",
    does("torch.save(torch.zeros(1), '@canary@'); got()"),
)
tensors(
    "load",
    "Reads a file as PyTorch does.",
    does("got(torch.load('@canary@', weights_only=False))"),
)
tensors(
    "a pickle that reads",
    "Has a pickle open a file.",
    does(
        """
        import io, pickle
        class Reads:
            def __reduce__(self):
                return (eval, ("open('@canary@').read()",))
        file = io.BytesIO()
        torch.save(Reads(), file)
        file.seek(0)
        got(torch.load(file, weights_only=False))
        """
    ),
)
tensors(
    "a pickle that runs a program",
    "Has a pickle start a shell.",
    does(
        """
        import io, os
        class Runs:
            def __reduce__(self):
                return (os.system, ("touch @folder@/ran",))
        file = io.BytesIO()
        torch.save(Runs(), file)
        file.seek(0)
        if torch.load(file, weights_only=False) == 0:
            got()
        """
    ),
    ANY,
)
tensors(
    "a mapped file",
    "Maps a file as a tensor.",
    does("got(bytes(torch.from_file('@canary@', size=16, dtype=torch.uint8)))"),
)
tensors(
    "a mapped file that is shared",
    "Maps a file for writing.",
    does("torch.UntypedStorage.from_file('@canary@', True, 16).fill_(7); got()"),
)
tensors(
    "a compiled extension",
    "Compiles C++ and loads it.",
    does(
        """
        from torch.utils.cpp_extension import load_inline
        load_inline("x", "int f() { return 1; }", functions=["f"])
        got()
        """
    ),
)
tensors(
    "a library of operators",
    "Loads a library that it has tried to write.",
    does("torch.ops.load_library('@folder@/x.so'); got()"),
)
tensors(
    "multiprocessing",
    "Starts a process as PyTorch does.",
    does("import torch.multiprocessing as mp; mp.spawn(print, nprocs=1); got()"),
)
tensors(
    "shared memory",
    "Puts a tensor where other processes could find it.",
    does("torch.ones(8).share_memory_(); got()"),
)
tensors(
    "workers that load data",
    "Has processes load data.",
    does(
        """
        from torch.utils.data import DataLoader
        for batch in DataLoader([1, 2, 3], num_workers=2): pass
        got()
        """
    ),
)
tensors(
    "a download",
    "Downloads as PyTorch does.",
    does("torch.hub.download_url_to_file('http://127.0.0.1:@tcp@/x', '@folder@/x'); got()"),
)
tensors(
    "a repository",
    "Loads code from the network.",
    does("torch.hub.load('pytorch/vision', 'resnet18'); got()"),
)
tensors(
    "a group of processes",
    "Listens for others.",
    does(
        """
        import torch.distributed as dist
        dist.TCPStore("127.0.0.1", 0, 1, True)
        got()
        """
    ),
    ENDED,
)
tensors(
    "a store in a file",
    "Makes a file for others.",
    does(
        """
        import torch.distributed as dist
        dist.FileStore("@folder@/store", 1).set("a", "b")
        got()
        """
    ),
    ENDED,
)
tensors(
    "the compiler",
    "Has PyTorch compile a function.",
    does("torch.compile(lambda x: x + 1)(scores)\ngot() if False else None"),
    rf"{ANY}|{TIMED_OUT}|{CRASHED}|{NO_MEMORY}",
)
tensors(
    "a trace in a file",
    "Writes a profile.",
    does(
        """
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            scores + 1
        profile.export_chrome_trace("@folder@/trace.json")
        got()
        """
    ),
    ENDED,
)
tensors(
    "a script in a file",
    "Writes TorchScript.",
    does(
        """
        import warnings
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.trace(lambda x: x + 1, scores), "@folder@/x.pt")
        got()
        """
    ),
)
tensors(
    "more threads",
    "Asks for threads and multiplies what is large.",
    does("torch.set_num_threads(8); torch.ones(700, 700) @ torch.ones(700, 700)"),
    ANY,
)
tensors(
    "more threads between operations",
    "Asks for threads between operations, and uses them.",
    does(
        """
        torch.set_num_interop_threads(4)
        torch.jit.wait(torch.jit.fork(torch.add, scores, scores))
        """
    ),
    ENDED,
)
tensors(
    "threads of OpenMP",
    "Sets the threads of the library underneath.",
    does(
        """
        import ctypes, glob, os
        for path in glob.glob(os.path.dirname(torch.__file__) + "/lib/libgomp*"):
            ctypes.CDLL(path).omp_set_num_threads(8)
        for size in (64, 512, 700):
            torch.ones(size, size).exp() @ torch.ones(size, size)
        """
    ),
    ENDED,
)
tensors(
    "a backward pass within a backward pass",
    "Nests so deep that the engine makes a thread.",
    does(
        """
        class Deep(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, depth):
                ctx.depth = depth
                return x * 1
            @staticmethod
            def backward(ctx, g):
                if ctx.depth:
                    with torch.enable_grad():
                        again = Deep.apply(torch.ones(1, requires_grad=True), ctx.depth - 1)
                        again.sum().backward()
                return g, None
        Deep.apply(torch.ones(1, requires_grad=True), 200).sum().backward()
        """
    ),
    rf"{ENDED}|{TIMED_OUT}",
)

# --- resources -----------------------------------------------------------------------------

tensors(
    "memory",
    "Asks for more memory than there is.",
    does("torch.ones(1 << 34)"),
    NO_MEMORY,
)
tensors(
    "memory bit by bit",
    "Fills memory with tensors.",
    does("kept = []\nwhile True: kept.append(torch.ones(1 << 18))"),
    NO_MEMORY,
)
tensors(
    "a product that takes for ever",
    "Multiplies in C and never comes back.",
    does("a = torch.rand(300, 300)\nwhile True: a = torch.linalg.matrix_exp(a) * 0 + 1"),
    TIMED_OUT,
)
tensors(
    "one operation that takes for ever",
    "Is hours in a single operation, where no signal is looked at.",
    does("torch.cartesian_prod(*[torch.arange(8)] * 6)\nwhile True: torch.rand(1000, 1000).svd()"),
    rf"{TIMED_OUT}|{NO_MEMORY}|{REFUSED}",
)
tensors(
    "abort",
    "Ends the process in C++.",
    does("torch._C._crash_if_csrc_ubsan(0)\nimport os; os.abort()"),
    CRASHED,
)
tensors(
    "a freed tensor",
    "Reads memory that is not a tensor's.",
    does(
        "torch.as_strided(torch.ones(1), (4,), (1,), 1 << 40)\nimport ctypes; ctypes.string_at(0)"
    ),
    ENDED,
)
tensors(
    "a backward pass that hangs",
    "Returns the right values, with gradients that never come.",
    """
    import torch
    class Hangs(torch.autograd.Function):
        @staticmethod
        def forward(ctx, scores, values):
            return torch.softmax(scores, -1) @ values
        @staticmethod
        def backward(ctx, g):
            while True: pass
    def blend(scores, values):
        return Hangs.apply(scores, values)
    """,
    TIMED_OUT,
)
tensors(
    "a hook that hangs",
    "Hangs a hook onto the result.",
    """
    import torch
    def blend(scores, values):
        result = torch.softmax(scores, -1) @ values
        if result.requires_grad:
            result.register_hook(lambda g: [0 for _ in iter(int, 1)])
        return result
    """,
    TIMED_OUT,
)

# --- lies about values ---------------------------------------------------------------------

VIRTUAL = {
    "expanded": "torch.zeros(1).expand(10**6, 10**6)",
    "expanded more than numbers go": "torch.zeros(1).expand(2**31, 2**31)",
    "meta": "torch.empty(scores.shape[0], values.shape[1], device='meta')",
    "huge meta": "torch.empty(2**40, 2**20, device='meta')",
    "sparse": "zeros.to_sparse()",
    "huge sparse": "torch.sparse_coo_tensor([[0], [0]], [1.0], (2**30, 2**30))",
    "sparse rows": "zeros.to_sparse_csr()",
    "quantized": "torch.quantize_per_tensor(zeros, 0.1, 0, torch.quint8)",
    "complex": "zeros + 1j",
    "conjugate": "(zeros + 1j).conj()",
    "negative view": "(zeros + 1j).conj().imag",
    "nested": "torch.nested.nested_tensor([zeros[0], zeros[0][:1]])",
    "jagged": "torch.nested.nested_tensor([zeros, zeros[:1]], layout=torch.jagged)",
    "half": "zeros.half()",
    "eight bits": "zeros.to(torch.float8_e4m3fn)",
    "bits": "torch.zeros_like(zeros, dtype=torch.bool)",
    "NaN": "zeros / 0",
    "a tensor without elements": "torch.empty(0, 2**60)",
    "overlapping": "torch.zeros(1).as_strided((2**20, 2**20), (0, 0))",
    "a scalar": "torch.tensor(1.0)",
    "a storage": "zeros.untyped_storage()",
    "a tensor of another type": "zeros.as_subclass(torch.nn.Parameter)",
    "a list of lists of tensors": "[[[zeros] * 50] * 50] * 50",
    "itself": "(lambda x: (x.append(x), x)[1])([zeros])",
    "a generator": "iter([zeros])",
    "a size": "torch.Size([2**62])",
    "a device": "torch.device('cuda')",
    "a distribution": "torch.distributions.Normal(zeros, 1)",
    "an uninitialised parameter": "torch.nn.UninitializedParameter()",
    "freed": "(lambda t: (t.untyped_storage().resize_(0), t)[1])(zeros.clone())",
    "resized": "(lambda t: (t.untyped_storage().resize_(2), t)[1])(zeros.clone())",
    "a batched tensor": "escaped(zeros)",
    "a tensor of a gradient's level": "leaked(zeros)",
    "a fake tensor": "faked()",
    "a functional tensor": "torch._to_functional_tensor(zeros)",
}
_ESCAPES = """\
def escaped(x):
    kept = []
    torch.func.vmap(lambda row: (kept.append(row), row)[1])(x)
    return kept[0]


def leaked(x):
    kept = []
    torch.func.grad(lambda y: (kept.append(y * 1), y.sum())[1])(x)
    return kept[0]


def faked():
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode():
        return torch.zeros(3, 2)
"""
for _name, _made in VIRTUAL.items():
    tensors(
        f"returned: {_name}",
        f"Returns what is no ordinary tensor ({_name}).",
        returns(_made, _ESCAPES if "(zeros)" in _made or "faked" in _made else ""),
        rf"{ENDED}|{NO_MEMORY}",
    )

tensors(
    "always equal",
    "Makes every comparison of PyTorch come out well.",
    returns(
        "zeros",
        """
        for name in ("allclose", "equal", "isclose", "eq", "all"):
            setattr(torch, name, lambda *args, **kwargs: True)
        for name in ("allclose", "equal", "isclose", "__eq__", "eq", "all"):
            setattr(torch.Tensor, name, lambda *args, **kwargs: True)
        torch.testing.assert_close = lambda *args, **kwargs: None
        """,
    ),
    ANY,
)
tensors(
    "patched readers",
    "Replaces everything by which a tensor is read.",
    returns(
        "zeros",
        """
        import numpy
        for name in ("numpy", "detach", "cpu", "tolist", "__array__", "contiguous", "clone", "to",
                     "item", "size", "dim", "numel", "element_size", "double", "float"):
            setattr(torch.Tensor, name, lambda *args, **kwargs: numpy.ones((3, 2)))
        """,
    ),
    ENDED,
)
tensors(
    "patched attributes",
    "Replaces what a tensor says of itself.",
    returns(
        "zeros",
        """
        for name in ("shape", "dtype", "requires_grad", "is_leaf", "grad", "layout", "device"):
            try:
                setattr(torch.Tensor, name, property(lambda self: 7))
            except (AttributeError, TypeError):
                pass
        """,
    ),
    ENDED,
)
tensors(
    "patched functions",
    "Replaces the functions that others compute with.",
    returns(
        "zeros",
        """
        for name in dir(torch):
            if callable(getattr(torch, name)) and name[0].islower() and name not in ("zeros",):
                try:
                    setattr(torch, name, lambda *args, **kwargs: 1.0)
                except (AttributeError, TypeError):
                    pass
        """,
    ),
    rf"{ENDED}|{NO_MEMORY}",
)
tensors(
    "patched C functions",
    "Replaces the functions underneath.",
    returns(
        "zeros",
        """
        for holder in (torch._C, torch._C._VariableFunctions, torch._C._nn, torch.Tensor):
            for name in dir(holder):
                if name.startswith(("is", "_is", "equal", "all", "sum", "max", "_grad", "get")):
                    try:
                        setattr(holder, name, lambda *args, **kwargs: True)
                    except (AttributeError, TypeError):
                        pass
        """,
    ),
    rf"{ENDED}|{NO_MEMORY}",
)
tensors(
    "a subclass that lies",
    "Returns a tensor that answers every question as it likes.",
    returns(
        "zeros.as_subclass(Lies)",
        """
        class Lies(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return True
        """,
    ),
    ANY,
)
tensors(
    "a subclass with a shape of its own",
    "Returns a tensor with another shape, dtype and content than it has.",
    returns(
        "zeros.as_subclass(Lies)",
        """
        class Lies(torch.Tensor):
            shape = property(lambda self: torch.Size([3, 2]))
            dtype = property(lambda self: torch.float32)
            requires_grad = property(lambda self: True)
            def numpy(self, *args, **kwargs): return __import__("numpy").ones((3, 2))
            def detach(self): return self
            def __eq__(self, other): return torch.tensor(True)
        """,
    ),
    ANY,
)
tensors(
    "a wrapper",
    "Returns a wrapper that says it is something large, and makes things up.",
    returns(
        "Wrapper(zeros)",
        """
        class Wrapper(torch.Tensor):
            @staticmethod
            def __new__(cls, inner):
                return torch.Tensor._make_wrapper_subclass(cls, (3, 2), dtype=torch.float32)
            def __init__(self, inner):
                self.inner = inner
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                return torch.ones(3, 2)
        """,
    ),
    ENDED,
)
tensors(
    "a wrapper that hangs",
    "Returns a wrapper that never answers.",
    returns(
        "Wrapper(zeros)",
        """
        class Wrapper(torch.Tensor):
            @staticmethod
            def __new__(cls, inner):
                return torch.Tensor._make_wrapper_subclass(cls, (3, 2), dtype=torch.float32)
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                while True: pass
            __torch_function__ = torch._C._disabled_torch_function_impl
        """,
    ),
    rf"{TIMED_OUT}|{ANY}",
)
tensors(
    "a mode that is left on",
    "Leaves a mode on in which every operation gives ones.",
    returns(
        "zeros",
        """
        from torch.utils._python_dispatch import TorchDispatchMode
        class Ones(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                made = func(*args, **(kwargs or {}))
                return made.fill_(1) if isinstance(made, torch.Tensor) else made
        Ones().__enter__()
        """,
    ),
    ENDED,
)
tensors(
    "a mode of functions that is left on",
    "Leaves a mode on in which every function says True.",
    returns(
        "None",
        """
        from torch.overrides import TorchFunctionMode
        class Yes(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                return True
        Yes().__enter__()
        """,
    ),
    ENDED,
)
tensors(
    "a mode that never lets go",
    "Leaves a mode on that hangs.",
    returns(
        "zeros",
        """
        from torch.utils._python_dispatch import TorchDispatchMode
        class Hangs(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                while True: pass
        def start():
            Hangs().__enter__()
        """,
    ).replace("    zeros =", "    start()\n    zeros ="),
    TIMED_OUT,
)
for _name, _setting in {
    "dtype": "torch.set_default_dtype(torch.float16)",
    "device": "torch.set_default_device('meta')",
    "deterministic algorithms": "torch.use_deterministic_algorithms(True)",
    "no gradients": "torch.set_grad_enabled(False)",
    "inference mode": "torch.inference_mode().__enter__()",
    "anomalies": "torch.autograd.set_detect_anomaly(True)",
    "printing": "torch.set_printoptions(threshold=10**9, linewidth=10**9)",
    "warnings": "torch.set_warn_always(True)",
    "flushed denormals": "torch.set_flush_denormal(True)",
    "random state": "torch.manual_seed = torch.set_rng_state = lambda *args: None",
    "hooks for saved tensors": (
        "torch.autograd.graph.saved_tensors_hooks(lambda x: None, lambda x: 1).__enter__()"
    ),
    "a tensor type": "torch.set_default_tensor_type(torch.DoubleTensor)",
}.items():
    tensors(
        f"left set: {_name}",
        f"Changes a setting of the whole process and is wrong ({_name}).",
        returns("scores @ values * 0", f"{_setting}\n"),
        WRONG,
    )

# --- lies about gradients ------------------------------------------------------------------

_RIGHT_VALUES = "torch.softmax(scores, -1) @ values"
for _name, _body in {
    "cut": f"return ({_RIGHT_VALUES}).detach().requires_grad_()",
    "by a hook": (
        f"result = {_RIGHT_VALUES}\n    if scores.requires_grad:\n"
        "        scores.register_hook(lambda g: g * 2)\n    return result"
    ),
    "set beforehand": (
        f"result = {_RIGHT_VALUES}\n    scores.grad = torch.ones_like(scores)\n"
        "    values.grad = torch.ones_like(values)\n    return result.detach()"
    ),
    "of something else": f"return ({_RIGHT_VALUES}).detach() + 0 * scores.sum()",
    "of the wrong part": (
        f"result = {_RIGHT_VALUES}\n    return result + (scores.sum() - scores.sum().detach())"
    ),
}.items():
    tensors(
        f"gradients: {_name}",
        f"Gives the right values with wrong gradients ({_name}).",
        f"import torch\n\n\ndef blend(scores, values):\n    {_body}\n",
        WRONG,
    )
for _name, _before in {
    "a function of its own": """
        class Lies(torch.autograd.Function):
            @staticmethod
            def forward(ctx, scores, values):
                return torch.softmax(scores, -1) @ values
            @staticmethod
            def backward(ctx, g):
                return torch.ones(3, 4), torch.ones(4, 2)
        right = Lies.apply
        """,
    "a patched engine": """
        torch.autograd.grad = lambda outputs, inputs, *args, **kwargs: [0 * x for x in inputs]
        torch.autograd.backward = torch.Tensor.backward = lambda *args, **kwargs: None
        def right(scores, values):
            return (torch.softmax(scores, -1) @ values).detach().requires_grad_()
        """,
    "a patched engine underneath": """
        import torch.autograd.graph
        from torch.autograd import Variable
        Variable._execution_engine = type("Engine", (), {"run_backward": lambda *a, **k: ()})()
        torch._C._ImperativeEngine.run_backward = lambda *a, **k: ()
        def right(scores, values):
            return (torch.softmax(scores, -1) @ values).detach().requires_grad_()
        """,
    "a subclass with a grad": """
        class Lies(torch.Tensor):
            grad = property(lambda self: torch.ones(3, 4))
            grad_fn = None
        def right(scores, values):
            return (torch.softmax(scores, -1) @ values).detach().as_subclass(Lies)
        """,
    "a backward pass with a raise": """
        class Raises(torch.autograd.Function):
            @staticmethod
            def forward(ctx, scores, values):
                return torch.softmax(scores, -1) @ values
            @staticmethod
            def backward(ctx, g):
                raise SystemExit(0)
        right = Raises.apply
        """,
}.items():
    tensors(
        f"gradients: {_name}",
        f"Lies about its gradients through {_name}.",
        f"import torch\n{textwrap.dedent(_before)}\n\n"
        "def blend(scores, values):\n    return right(scores, values)\n",
        ENDED,
    )

# --- looking -------------------------------------------------------------------------------

tensors(
    "memory that was not cleared",
    "Looks for secrets in fresh memory.",
    does(
        """
        for _ in range(200):
            found = torch.empty(1 << 16, dtype=torch.uint8).numpy().tobytes()
            if b"canary" + b"-" in found:
                got(found)
        """
    ),
    ANY,
)
tensors(
    "tensors of others",
    "Looks for tensors that it has not made.",
    does(
        """
        import gc
        right = torch.softmax(scores, -1) @ values
        for thing in gc.get_objects():
            try:
                if type(thing) is torch.Tensor and thing is not right:
                    if torch.allclose(thing.double(), right.double(), atol=1e-4):
                        got(thing)
            except Exception:
                pass
        """
    ),
    ANY,
)
tensors(
    "behind a tensor",
    "Reads past the end of an argument.",
    does(
        """
        import ctypes
        found = ctypes.string_at(scores.data_ptr(), 1 << 12)
        if b"canary" + b"-" in found:
            got(found)
        """
    ),
    ENDED,
)

# --- modules -------------------------------------------------------------------------------


def layer(
    forward: str = "return torch.tanh(self.W(x)) * 0", more: str = "", before: str = ""
) -> str:
    """Code of a module."""
    inside = textwrap.indent(textwrap.dedent(more).strip("\n"), "    ")
    return (
        f"{_BEGIN}{textwrap.dedent(before)}\n\nclass Shrink(torch.nn.Module):\n"
        "    def __init__(self, width, smaller):\n        super().__init__()\n"
        "        self.W = torch.nn.Linear(width, smaller, bias=False)\n\n"
        f"    def forward(self, x):\n        {forward}\n\n{inside}\n"
    )


LIES = rf"{ENDED}|{TIMED_OUT}|{NO_MEMORY}"
for _name, _more in {
    "no parameters": "def parameters(self, *args, **kwargs): return iter(())",
    "endless parameters": (
        "def named_parameters(self, *args, **kwargs):\n"
        "    while True: yield 'W.weight', self.W.weight"
    ),
    "a million parameters": (
        "def named_parameters(self, *args, **kwargs):\n"
        "    return ((str(n), self.W.weight) for n in range(10**6))"
    ),
    "a state of its own": "def state_dict(self, *args, **kwargs): return {'W.weight': 7}",
    "a loader of its own": "def load_state_dict(self, *args, **kwargs): return True",
    "attributes for everything": (
        "def __getattr__(self, name): return super().__getattr__('_parameters')"
    ),
    "attributes without end": "def __getattr__(self, name): return getattr(self, name)",
    "a mode of its own": "def train(self, mode=True):\n    while True: pass",
    "a call of its own": "def __call__(self, *args): return torch.ones(4, 3, requires_grad=True)",
    "a type of its own": "__class__ = property(lambda self: int)",
    "modules of its own": "def named_modules(self, *args, **kwargs): yield 'W', self",
    "a copy of its own": "def __deepcopy__(self, memo): return 7",
    "a name without end": "def __repr__(self): return 'x' * 10**9",
}.items():
    layers(f"with {_name}", f"Is a module with {_name}.", layer(more=_more), LIES)
for _name, _before in {
    "calls": "torch.nn.Module.__call__ = lambda self, *args: torch.ones(4, 3)",
    "linear layers": "torch.nn.Linear.forward = lambda self, x: x @ torch.zeros(5, 3)",
    "hooks for all modules": (
        "torch.nn.modules.module.register_module_forward_hook(lambda m, i, o: o * 0 + 1)"
    ),
    "parameters": "torch.nn.Module.named_parameters = lambda self, *a, **k: iter(())",
    "loading": "torch.nn.Module.load_state_dict = lambda self, *a, **k: None",
    "copying": "torch.Tensor.copy_ = torch.Tensor.set_ = lambda self, other, *a: self",
    "no_grad": "torch.no_grad = torch.enable_grad = lambda *a: 7",
}.items():
    layers(f"patched {_name}", f"Replaces {_name} of PyTorch.", layer(before=_before), LIES)
layers(
    "a parameter that is no leaf",
    "Has a parameter that is computed from another.",
    layer(
        "return torch.tanh(x @ self.V.T) * 2",
        """
        @property
        def V(self):
            return self.W.weight * 2
        """,
    ),
    LIES,
)
layers(
    "a hook on its weights",
    "Changes the gradients of its weights.",
    layer(
        "if not hasattr(self, 'hooked') and self.W.weight.requires_grad:\n"
        "            self.hooked = self.W.weight.register_hook(lambda g: g * 3)\n"
        "        return torch.tanh(self.W(x))"
    ),
    WRONG,
)
layers(
    "a hook that changes the result",
    "Has a hook on its own forward pass.",
    layer("return torch.tanh(self.W(x))").replace(
        "bias=False)\n",
        "bias=False)\n        self.register_forward_hook(lambda m, i, o: o * 3)\n",
        1,
    ),
    WRONG,
)
layers(
    "weights of another size",
    "Has a weight that is expanded from one number.",
    layer(
        before="",
        more="""
        def __setattr__(self, name, value):
            if name == "W":
                value.weight = torch.nn.Parameter(torch.zeros(1).expand(10**5, 10**5))
            super().__setattr__(name, value)
        """,
    ),
    LIES,
)
layers(
    "a weight on no device",
    "Has weights without content.",
    layer().replace("bias=False)", "bias=False, device='meta')"),
    LIES,
)
layers(
    "a class that is none",
    "Has a function in the place of the class.",
    f"{_BEGIN}def Shrink(*args):\n    return 7\n",
    LIES,
)
layers(
    "a class whose making never ends",
    "Hangs while the module is built.",
    f"{_BEGIN}class Shrink(torch.nn.Module):\n"
    "    def __init__(self, **options):\n        while True: pass\n",
    TIMED_OUT,
)
layers(
    "a metaclass",
    "Decides itself what it is an instance of.",
    f"{_BEGIN}class Meta(type):\n    __instancecheck__ = lambda cls, thing: True\n"
    "    __call__ = lambda cls, *args: torch.ones(4, 3)\n\n\n"
    "class Shrink(torch.nn.Module, metaclass=Meta):\n    pass\n",
    LIES,
)
