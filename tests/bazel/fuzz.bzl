# SPDX-License-Identifier: Apache-2.0
"""Macros that make fuzz targets, as projects have them."""

# Builds elsewhere than asan-fuzzer leave out -fsanitize=fuzzer, and have no main().
_FUZZER = ["-fsanitize=fuzzer"]

def fuzzer(name, srcs, corpus, **kwargs):
    """<name>_bin is fuzzed; the corpus is the data of the regression test <name> only."""
    native.filegroup(
        name = name + "_inputs",
        srcs = native.glob([corpus + "/**"]),
    )
    native.cc_binary(
        name = name + "_bin",
        srcs = srcs,
        linkopts = _FUZZER,
        tags = ["fuzz_target"],
        **kwargs
    )
    native.cc_test(
        name = name,
        srcs = srcs,
        args = ["$(locations :%s_inputs)" % name],
        data = [":%s_inputs" % name],
        linkopts = _FUZZER,
        tags = ["fuzz_target"],
        **kwargs
    )

def _corpus_impl(ctx):
    return [DefaultInfo(files = depset(ctx.files.srcs))]

# What cc_fuzz_test() of rules_fuzzing makes, as far as a corpus is concerned.
fuzzing_corpus = rule(
    implementation = _corpus_impl,
    attrs = {"srcs": attr.label_list(allow_files = True)},
)

def _binary_impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(output = out, target_file = ctx.executable.binary, is_executable = True)
    return [DefaultInfo(executable = out)]

fuzzing_binary = rule(
    implementation = _binary_impl,
    attrs = {
        "binary": attr.label(executable = True, cfg = "target"),
        "corpus": attr.label(),
    },
    executable = True,
)

def cc_fuzz_test(name, corpus, **kwargs):
    native.cc_binary(
        name = name + "_raw_",
        linkopts = _FUZZER,
        tags = ["manual"],
        **kwargs
    )
    fuzzing_corpus(
        name = name + "_corpus",
        srcs = corpus,
    )
    fuzzing_binary(
        name = name + "_bin",
        binary = name + "_raw_",
        corpus = name + "_corpus",
        tags = ["manual"],
    )
