"""One step of a network through Dynamo, AOTAutograd and Inductor's scheduler, on fake tensors on a
GPU. The scheduler's decisions are read; no kernel is compiled or run."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._pytree import tree_map

from simulator.inductor.breaks.graph_breaks import line_of
from simulator.inductor.reading import Reading
from simulator.inductor.refusal import RefusalError
from simulator.inductor.schedule import Schedule

Progress = Callable[[str], None]
CUDA = torch.device("cuda", 0)


class _Done(BaseException):
    """Ends a step after all graphs are scheduled. Not an Exception, because the compiler would
    catch it."""


def schedule_module(
    module: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    training: bool,
    autocast: str | None,
    progress: Progress,
) -> Schedule:
    """The launches of one compiled step of a module on `meta`.

    Raises RefusalError if the compiler cannot compile it as one graph.
    """
    compiling = _Compiling(progress, training)
    began = time.perf_counter()
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    to_gpu(module, mode)
    args, kwargs = tree_map(partial(on_gpu, mode), (args, kwargs))
    module.train(training)
    run = torch.compile(  # pyright: ignore[reportUnknownMemberType]
        module, backend=compiling.backend, fullgraph=True, dynamic=False
    )
    progress("tracing with Dynamo")
    with ExitStack() as stack:
        stack.enter_context(mode)
        stack.enter_context(torch.enable_grad() if training else torch.no_grad())
        if autocast is not None:
            dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}[autocast]
            stack.enter_context(torch.autocast("cuda", dtype=dtype))
        with suppress(_Done):
            try:
                run(*args, **kwargs)
            except Exception as error:
                if compiling.refusal is None:
                    raise
                raise compiling.refusal from error
    compiling.seconds["in all"] = time.perf_counter() - began
    if not compiling.graphs:
        raise RefusalError("the step has nothing to compile")
    if training and "backward" not in compiling.graphs:
        raise RefusalError("the compiler created no graph for the backward pass")
    return compiling.schedule()


def schedule_piece(graph: Any, examples: list[Any], training: bool, progress: Progress) -> Schedule:
    """The launches of one of the graphs into which Dynamo cuts a step. The graph is consumed."""
    compiling = _Compiling(progress, training)
    with suppress(_Done):
        compiling.backend(graph, examples)
    return compiling.schedule()


class _Compiling:
    """A backend of torch.compile that schedules a graph and ends the step."""

    def __init__(self, progress: Progress, training: bool) -> None:
        settings: Any = import_module("torch._functorch.config")
        settings.force_non_lazy_backward_lowering = True  # otherwise it is lowered when it runs
        self.progress, self.training = progress, training
        self.reading = Reading()
        self.graphs: list[str] = []
        self.refusal: RefusalError | None = None
        self.seconds: dict[str, float] = {}
        self.entered = time.perf_counter()

    def backend(self, graph: Any, examples: list[Any]) -> Any:
        self.seconds["tracing"] = time.perf_counter() - self.entered
        self.progress(f"decomposing {len(graph.graph.nodes):,} calls")
        nodes: list[Any] = list(graph.graph.nodes)
        unknown = next((node for node in nodes if _unknown_size(node)), None)
        if unknown is not None:  # torch.compile breaks its graph there by default
            self.refusal = RefusalError(
                f"the graph breaks at {line_of(unknown.stack_trace)}: the size of {unknown.name} "
                "depends on data"
            )
            raise self.refusal
        self.reading.enter(graph, examples)
        compile_fx: Any = import_module("torch._inductor.compile_fx")
        return compile_fx.compile_fx(graph, examples, inner_compile=self.inner)

    def schedule(self) -> Schedule:
        """The schedule of all graphs so far."""
        return self.reading.schedule(
            torch_version=str(torch.__version__),
            triton_version=version("triton"),
            seconds={name: round(value, 3) for name, value in self.seconds.items()},
        )

    def inner(self, graph: Any, examples: list[Any], **how: Any) -> Any:
        """Replaces `compile_fx_inner`: runs its steps up to scheduling."""
        backward = bool(how.get("is_backward"))
        phase = "backward" if backward else "forward"
        self.progress(f"scheduling the {phase} pass, {len(graph.graph.nodes):,} nodes")
        began = time.perf_counter()
        lowered = _lower(graph, examples, how)
        scheduled = time.perf_counter()
        self.reading.read(lowered, phase)
        self.graphs.append(phase)
        self.seconds[phase] = scheduled - began
        self.seconds[f"reading {phase}"] = time.perf_counter() - scheduled
        if backward or not self.training:
            raise _Done
        return _end_step


def _unknown_size(node: Any) -> bool:
    value = node.meta.get("example_value")
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return True
    return isinstance(value, torch.Tensor) and any(isinstance(s, torch.SymInt) for s in value.shape)


def _end_step(*args: Any) -> Any:
    raise _Done


def _lower(graph: Any, examples: list[Any], how: dict[str, Any]) -> Any:
    compile_fx: Any = import_module("torch._inductor.compile_fx")
    lowering: Any = import_module("torch._inductor.graph")
    debug: Any = import_module("torch._inductor.debug")
    virtual: Any = import_module("torch._inductor.virtualized").V
    backward, inference = bool(how.get("is_backward")), bool(how.get("is_inference"))
    outputs = compile_fx.output_node(graph).args[0]
    names = [getattr(node, "name", None) for node in outputs]
    compile_fx.view_to_reshape(graph)
    with torch.no_grad():
        mode = compile_fx.fake_tensor_prop(graph, examples)
    compile_fx._recursive_record_original_output_strides(graph)
    with virtual.set_fake_mode(mode):
        compile_fx._recursive_post_grad_passes(graph, is_inference=inference)
        lowered = lowering.GraphLowering(
            graph,
            example_inputs=examples,
            shape_env=mode.shape_env if mode else None,
            graph_id=how.get("graph_id"),
            is_inference=inference,
            is_backward=backward,
        )
        lowered.output_names = names
        lowered.freeze_runtime_asserts()
        with (
            compile_fx.maybe_disable_comprehensive_padding(examples),
            virtual.set_graph_handler(lowered),
            virtual.set_extern_kernel_nodes([]),
            debug.DebugContext(),
            virtual.set_debug_handler(debug.DebugContext()),
        ):
            lowered.run(*examples)
            lowered.init_wrapper_code()
            lowered._update_scheduler()
    _record_output_strides(lowered)
    return lowered


def _record_output_strides(lowered: Any) -> None:
    """Record the strides that the forward graph gave its outputs, with which the backward graph
    reads saved tensors."""
    context: Any = import_module("torch._guards").TracingContext.try_get()
    if context is None or context.output_strides is None or context.output_strides:
        return
    for out in lowered.graph_outputs:
        strided = hasattr(out, "get_stride") and out.has_tensor_output()
        context.output_strides.append(tuple(map(int, out.get_stride())) if strided else None)


def to_gpu(module: nn.Module, mode: FakeTensorMode) -> None:
    """Move parameters and buffers to the GPU in place; tied ones remain tied."""
    moved: dict[int, Any] = {}

    def move(x: torch.Tensor) -> Any:
        if id(x) not in moved:
            fake = on_gpu(mode, x)
            moved[id(x)] = (
                nn.Parameter(fake, x.requires_grad) if isinstance(x, nn.Parameter) else fake
            )
        return moved[id(x)]

    for child in module.modules():
        for table in (child._parameters, child._buffers):  # pyright: ignore[reportPrivateUsage]
            for name, x in list(table.items()):
                if x is not None:
                    table[name] = move(x)


def on_gpu(mode: FakeTensorMode, x: Any) -> Any:
    """Convert a tensor to a fake one on the GPU; return other values unchanged."""
    if not isinstance(x, torch.Tensor):
        return x
    with torch.no_grad():
        meta = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="meta")
    return FakeTensor(mode, meta, CUDA)
