"""Every strategy with its settings, as options of `peraxis`, and what each must make of a layer (layer_arithmetic.py)."""
WITHIN_ONE = "at most 1 off the reference"


# Way -> (options, what a layer must give: WITHIN_ONE, or the values as a function of the layer and its accumulators).
def same(layer, acc):
    return layer.reference(acc)


WAYS = {
    "exact": (("--strategy", "exact"), same),
    "accuracy exact": (("--accuracy", "exact"), same),
    "at most 0": (("--max-mismatch", "0"), same),
    "auto": ((), WITHIN_ONE),
    "at most 100": (("--max-mismatch", "100"), WITHIN_ONE),
    "at most 0.03": (("--max-mismatch", "0.03"), WITHIN_ONE),
    "hw-multiply": (("--strategy", "hw-multiply"), WITHIN_ONE),
    "hw-multiply, ratio 4": (("--strategy", "hw-multiply", "--max-ratio", "4"), WITHIN_ONE),
    "hw-multiply, vendor": (("--strategy", "hw-multiply", "--vendor-factors"), lambda l, acc: l.vendor(acc, l.everything())),
    "exponent-classes": (("--strategy", "exponent-classes"), WITHIN_ONE),
    "exponent-classes-tie-proof": (("--strategy", "exponent-classes-tie-proof"), WITHIN_ONE),
    "max-scale": (("--strategy", "max-scale"), lambda l, acc: l.grouped(acc, l.everything())),
    "max-scale, off": (("--strategy", "max-scale", "--correction", "off"),
                       lambda l, acc: l.grouped(acc, l.everything(), correction=False)),
    "max-scale, bias": (("--strategy", "max-scale", "--bias-rescale", "--correction", "off"),
                        lambda l, acc: l.grouped(acc, l.everything(), correction=False, bias_rescale=True)),
    "groups": (("--strategy", "groups"), lambda l, acc: l.grouped(acc, l.positional())),
    "groups, off": (("--strategy", "groups", "--correction", "off"),
                    lambda l, acc: l.grouped(acc, l.positional(), correction=False)),
    "groups of 32": (("--strategy", "groups", "--group-size", "32"), lambda l, acc: l.grouped(acc, l.positional(32))),
    "groups of 5, off": (("--strategy", "groups", "--group-size", "5", "--correction", "off"),
                         lambda l, acc: l.grouped(acc, l.positional(5), correction=False)),
    "groups, multiply": (("--strategy", "groups", "--correction", "multiply"), WITHIN_ONE),
    "groups of 32, multiply": (("--strategy", "groups", "--correction", "multiply", "--group-size", "32"), WITHIN_ONE),
    "groups, vendor": (("--strategy", "groups", "--correction", "multiply", "--vendor-factors"),
                       lambda l, acc: l.vendor(acc, l.positional())),
    "sorted-groups": (("--strategy", "sorted-groups"), lambda l, acc: l.grouped(acc, l.by_size())),
    "sorted-groups, off": (("--strategy", "sorted-groups", "--correction", "off"),
                           lambda l, acc: l.grouped(acc, l.by_size(), correction=False)),
    "sorted-groups, ratio 4": (("--strategy", "sorted-groups", "--max-ratio", "4"),
                               lambda l, acc: l.grouped(acc, l.by_size(16, 4))),
    "sorted-groups of 32": (("--strategy", "sorted-groups", "--group-size", "32"), lambda l, acc: l.grouped(acc, l.by_size(32))),
    "sorted-groups, multiply": (("--strategy", "sorted-groups", "--correction", "multiply", "--max-ratio", "4"), WITHIN_ONE),
    "per-channel": (("--strategy", "per-channel"), lambda l, acc: l.grouped(acc, l.positional(1))),
    "hybrid": (("--strategy", "hybrid"), lambda l, acc: l.grouped(acc, l.mixed())),
    "hybrid of 32": (("--strategy", "hybrid", "--group-size", "32", "--hybrid-ratio", "100"),
                     lambda l, acc: l.grouped(acc, l.mixed(32, 100))),
    "two-scalar": (("--strategy", "two-scalar"), WITHIN_ONE),
    "mesa-scale": (("--strategy", "mesa-scale"), lambda l, acc: l.mesa(acc)),
}
# Strategies for layers with one multiplier; they leave the others to `exact`.
CAN_REFUSE = {"two-scalar", "mesa-scale"}
