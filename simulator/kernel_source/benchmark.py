"""The end of every exported file: operands, the check and the benchmark."""

RUNNING = '''
def filled(kind, shape, stride, dtype, limit=0):
    """A tensor of random numbers: "normal" ones, "positive" ones, a "flag", a "count", or an
    "index" below the limit."""
    tensor = torch.empty_strided(shape, stride, dtype=dtype, device=DEVICE)
    if kind == "normal":
        return tensor.normal_()
    if kind == "positive":
        return tensor.uniform_(0.5, 2.0)
    return tensor.random_(0, {"flag": 2, "count": 100, "index": limit}[kind])


def wide(op, **arguments):
    """Run an op in fp32 and round its results to half precision: on a CPU, which has no half
    version, and on a GPU if the first operand is in fp32."""
    tensors = [t for t in arguments.values() if isinstance(t, torch.Tensor)]
    halves = {t.dtype for t in tensors if t.itemsize == 2}
    if not halves or (DEVICE == "cuda" and tensors[0].dtype in halves):
        return op(**arguments)
    arguments = {n: t.float() if isinstance(t, torch.Tensor) else t for n, t in arguments.items()}
    half, = halves
    return [t if t is None else t.to(half) for t in op(**arguments)]


def unwritten(shape, stride, dtype, device):
    """A result filled with NaN or the largest number, which reveals unwritten elements."""
    tensor = torch.empty_strided(shape, stride, dtype=dtype, device=device)
    if tensor.is_floating_point():
        return tensor.fill_(torch.nan)
    return tensor.fill_(True if dtype == torch.bool else torch.iinfo(dtype).max)


def check(largest=2**21):
    """Compare the kernel with the reference in every case."""
    for name, sizes in CASES.items():
        s = SimpleNamespace(**sizes)
        if DEVICE == "cpu" and elements(s) > largest:
            print(f"{name}: skipped, too large for the interpreter")
            continue
        torch.manual_seed(0)
        inputs = operands(s)
        try:
            expected = reference(s, *inputs)
        except NotImplementedError as error:  # an op that torch has for GPUs only
            print(f"{name}: skipped without a GPU: {str(error).splitlines()[0][:100]}")
            continue
        results = fused(s, *inputs, empty=unwritten)
        for place, (result, right) in enumerate(zip(results, expected, strict=True)):
            exact = not right.is_floating_point()
            numbers = right.double().nan_to_num(0.0, 0.0, 0.0)  # of the finite elements
            size = 0.0 if exact else numbers.square().mean().sqrt().item()
            torch.testing.assert_close(
                result, right, rtol=0 if exact else TOLERANCE, atol=TOLERANCE * size,
                equal_nan=True, check_stride=True,
                check_dtype=DEVICE == "cuda",  # a CPU keeps some statistics in halves
                msg=lambda text, name=name, place=place: f"{name}, result {place}: {text}",
            )
        print(f"{name}: passed, {', '.join(str(tuple(w.shape)) for w in expected)}")


def launched(call, times):
    """Names and seconds of the kernels that `times` calls launch, by the profiler."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for _ in range(times):
            call()
        torch.cuda.synchronize()
    return [(e.name, e.device_time * 1e-6) for e in seen.events() if e.device_type.name == "CUDA"]


def cold_times(call, samples=21):
    """Median seconds of a call with its operands out of L2: between events, and of its kernels by
    the profiler."""
    l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
    # No group fills int16, so the name identifies the kernel of the flush
    flush = torch.empty(2 * l2_bytes, dtype=torch.int16, device=DEVICE)
    call()
    events = []
    for _ in range(samples):
        flush.zero_()
        torch.cuda._sleep(500_000)  # lets the host run ahead
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        events.append(begin.elapsed_time(end) * 1e-3)
    flushing = {name for name, _ in launched(flush.zero_, 1)}
    sessions = [launched(lambda: (flush.zero_(), call()), 5) for _ in range(3)]
    totals = [sum(s for name, s in each if name not in flushing) / 5 for each in sessions]
    return statistics.median(events), statistics.median(totals)


def benchmark():
    """Print measured and predicted times of the exported case."""
    s = SimpleNamespace(**next(iter(CASES.values())))
    inputs = operands(s)
    for name, run in (("kernel", fused), ("unfused", reference)):
        by_events_s, kernels_s = cold_times(lambda run=run: run(s, *inputs))
        predicted_s = PREDICTED_S[name]
        line = f"{name}: predicted {predicted_s * 1e6:.2f} us, measured {kernels_s * 1e6:.2f} us"
        line += f" ({predicted_s / kernels_s - 1:+.0%}), {by_events_s * 1e6:.2f} us between events"
        if name == "kernel":
            line += f", {MOVED_BYTES / kernels_s * 1e-12:.2f} TB/s"
        print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only check")
    parser.add_argument("--benchmark", action="store_true", help="only measure")
    options = parser.parse_args()
    if DEVICE == "cpu" and not INTERPRETED:
        raise SystemExit("no GPU: set TRITON_INTERPRET=1 to check with Triton's interpreter")
    if not options.benchmark:
        check()
    if DEVICE == "cuda" and not options.check:
        benchmark()


if __name__ == "__main__":
    main()
'''
"""The text uses CASES, TOLERANCE, PREDICTED_S, MOVED_BYTES, DEVICE, `elements`, `operands`, `fused`
and `reference`."""
