"""What students wrote for `init_projections`: Xavier uniform with a gain, zero biases."""

from tests.students.corpus import right, wrong

ENTRIES = [
    wrong(
        "I4",
        "the standard deviation taken for the bound",
        """
def init_projections(module, gain=1.0):
    for m in module.modules():
        if isinstance(m, nn.Linear):
            a = gain * math.sqrt(2.0 / (m.in_features + m.out_features))
            nn.init.uniform_(m.weight, -a, a)
            if m.bias is not None:
                nn.init.zeros_(m.bias)
    return module
""",
        "bound_is_std",
        fault="math.sqrt(2.0 /",
    ),
    wrong(
        "own",
        "the gain is not passed on",
        """
def init_projections(module, gain=1.0):
    def init(m):
        if type(m) == nn.Linear:
            torch.nn.init.xavier_uniform_(m.weight)
            if m.bias is not None:
                m.bias.data.fill_(0.0)
    module.apply(init)
    return module
""",
        "gain_ignored",
        fault="xavier_uniform_(m.weight)",
    ),
    wrong(
        "own",
        "gain taken as the standard deviation, as in GPT-2",
        """
def init_projections(module, gain=1.0):
    for m in module.modules():
        if isinstance(m, nn.Linear):
            nn.init.normal_(m.weight, mean=0.0, std=gain)
            if m.bias is not None:
                nn.init.zeros_(m.bias)
    return module
""",
        "std_is_gain",
        fault="nn.init.normal_",
    ),
    wrong(
        "own",
        "biases stay as they were",
        """
def init_projections(module, gain=1.0):
    for _, m in module.named_modules():
        if not isinstance(m, nn.Linear):
            continue
        m.weight = nn.init.xavier_uniform_(m.weight, gain=gain)
    return module
""",
        "biases_left",
        fault="m.weight = nn.init.xavier_uniform_",
    ),
    wrong(
        "own",
        "Kaiming instead of Xavier",
        """
def init_projections(module, gain=1.0):
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            bound = gain * math.sqrt(3.0 / layer.in_features)
            layer.weight.data.uniform_(-bound, bound)
            if layer.bias is not None:
                layer.bias.data.zero_()
    return module
""",
        "fan_in_alone",
        fault="math.sqrt(3.0 / layer.in_features)",
    ),
    wrong(
        "own",
        "direct children only",
        """
def init_projections(module, gain=1.0):
    for child in module.children():
        if isinstance(child, nn.Linear):
            nn.init.xavier_uniform_(child.weight, gain=gain)
            if child.bias is not None:
                nn.init.constant_(child.bias, 0)
    return module
""",
        "outermost_only",
        fault="module.children()",
    ),
    wrong(
        "own",
        "returns nothing",
        """
def init_projections(module, gain=1.0):
    for m in module.modules():
        if isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight, gain)
            if m.bias is not None:
                nn.init.zeros_(m.bias)
""",
        "nothing_returned",
        fault="nn.init.zeros_(m.bias)",
    ),
    wrong(
        "own",
        "stumbles over a missing bias",
        """
def init_projections(module, gain=1.0):
    for m in module.modules():
        if isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight, gain=gain)
            m.bias.data.fill_(0)
    return module
""",
        "data_of_bias_expected",
        fault="m.bias.data.fill_(0)",
    ),
    wrong(
        "own",
        "the gain squared on top of itself",
        """
def init_projections(module, gain=1.0):
    for m in module.modules():
        if isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight, gain=gain)
            m.weight.data *= gain
            if m.bias is not None:
                nn.init.zeros_(m.bias)
    return module
""",
        fault="m.weight.data *= gain",
    ),
    wrong(
        "own",
        "new parameters in place of the old ones",
        """
def init_projections(module, gain=1.0):
    for m in module.modules():
        if isinstance(m, nn.Linear):
            w = torch.empty(m.out_features, m.in_features)
            nn.init.xavier_uniform_(w, gain=gain)
            m.weight = nn.Parameter(w)
            if m.bias is not None:
                m.bias = nn.Parameter(torch.zeros(m.out_features))
    return module
""",
        "new_parameters",
        fault=("m.weight = nn.Parameter(w)", "m.bias = nn.Parameter"),
    ),
    wrong(
        "own",
        "everything with a weight, embeddings and norms included",
        """
def init_projections(module, gain=1.0):
    for name, p in module.named_parameters():
        if p.dim() >= 2:
            nn.init.xavier_uniform_(p, gain=gain)
        else:
            nn.init.zeros_(p)
    return module
""",
        "every_matrix",
        fault=("if p.dim() >= 2", "for name, p in"),
    ),
    right(
        "uniform with the bound by hand",
        """
@torch.no_grad()
def init_projections(module, gain=1.0):
    linears = [m for m in module.modules() if isinstance(m, nn.Linear)]
    for lin in linears:
        fan_out, fan_in = lin.weight.shape
        a = gain * (6 / (fan_in + fan_out)) ** .5
        lin.weight.copy_((torch.rand_like(lin.weight) * 2 - 1) * a)
        if lin.bias is not None:
            lin.bias.zero_()
    return module
""",
    ),
    right(
        "module.apply returns the module",
        """
def init_projections(module, gain=1.0):
    def _init_weights(m):
        if isinstance(m, (nn.Linear,)):
            nn.init.xavier_uniform_(m.weight.data, gain)
            if getattr(m, "bias", None) is not None:
                m.bias.data.fill_(0.)
    return module.apply(_init_weights)
""",
    ),
    right(
        "recursion over children",
        """
def init_projections(module, gain=1.0):
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight, gain=gain)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
    for c in module.children():
        init_projections(c, gain)
    return module
""",
    ),
]
