"""What every exported file ends with: how operands are filled, the check, and the benchmark."""

RUNNING = '''
def filled(kind, shape, stride, dtype, limit=0):
    """A tensor of random numbers: "normal" ones, "positive" ones, a "flag", a "count", or an
    "index" below the limit."""
    made = torch.empty_strided(shape, stride, dtype=dtype, device=DEVICE)
    if kind == "normal":
        return made.normal_()
    if kind == "positive":
        return made.uniform_(0.5, 2.0)
    return made.random_(0, {"flag": 2, "count": 100, "index": limit}[kind])


def wide(op, **given):
    """An op that a CPU has in fp32 alone, and a GPU where its first operand was left in fp32: it
    rounds to halves afterwards there."""
    tensors = [t for t in given.values() if isinstance(t, torch.Tensor)]
    halves = {t.dtype for t in tensors if t.itemsize == 2}
    if not halves or (DEVICE == "cuda" and tensors[0].dtype in halves):
        return op(**given)
    given = {n: t.float() if isinstance(t, torch.Tensor) else t for n, t in given.items()}
    half, = halves
    return [t if t is None else t.to(half) for t in op(**given)]


def unwritten(shape, stride, dtype, device):
    """A result of NaN, or of the largest number, by which an element that no program writes is
    seen."""
    made = torch.empty_strided(shape, stride, dtype=dtype, device=device)
    if made.is_floating_point():
        return made.fill_(torch.nan)
    return made.fill_(True if dtype == torch.bool else torch.iinfo(dtype).max)


def check(largest=2**21):
    """The kernel against the reference in every case."""
    for name, sizes in CASES.items():
        s = SimpleNamespace(**sizes)
        if DEVICE == "cpu" and elements(s) > largest:
            print(f"{name}: left to a GPU, being large for the interpreter")
            continue
        torch.manual_seed(0)
        given = operands(s)
        try:
            wanted = reference(s, *given)
        except NotImplementedError as error:  # an op that torch has for GPUs alone
            print(f"{name}: left to a GPU: {str(error).splitlines()[0][:100]}")
            continue
        results = fused(s, *given, empty=unwritten)
        for place, (made, right) in enumerate(zip(results, wanted, strict=True)):
            exact = not right.is_floating_point()
            numbers = right.double().nan_to_num(0.0, 0.0, 0.0)  # of what is finite
            size = 0.0 if exact else numbers.square().mean().sqrt().item()
            torch.testing.assert_close(
                made, right, rtol=0 if exact else TOLERANCE, atol=TOLERANCE * size,
                equal_nan=True, check_stride=True,
                check_dtype=DEVICE == "cuda",  # a CPU keeps some statistics in halves
                msg=lambda text, name=name, place=place: f"{name}, result {place}: {text}",
            )
        print(f"{name}: good, {', '.join(str(tuple(w.shape)) for w in wanted)}")


def launched(call, times):
    """Names and seconds of the kernels that so many calls launch, by the profiler."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for _ in range(times):
            call()
        torch.cuda.synchronize()
    return [(e.name, e.device_time * 1e-6) for e in seen.events() if e.device_type.name == "CUDA"]


def cold_times(call, samples=21):
    """Seconds of a call with its operands out of L2, medians: by events around it, and its kernels
    alone by the profiler."""
    l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
    # No group fills whole numbers of 16 bits: by its name the flush's kernel is told from a call's
    flush = torch.empty(2 * l2_bytes, dtype=torch.int16, device=DEVICE)
    call()
    events = []
    for _ in range(samples):
        flush.zero_()
        torch.cuda._sleep(500_000)  # so that the host is ahead
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        events.append(begin.elapsed_time(end) * 1e-3)
    flushing = {name for name, _ in launched(flush.zero_, 1)}
    found = [launched(lambda: (flush.zero_(), call()), 5) for _ in range(3)]
    totals = [sum(s for name, s in each if name not in flushing) / 5 for each in found]
    return statistics.median(events), statistics.median(totals)


def benchmark():
    """Measured beside predicted, for the exported case."""
    s = SimpleNamespace(**next(iter(CASES.values())))
    given = operands(s)
    for name, run in (("kernel", fused), ("unfused", reference)):
        by_events_s, kernels_s = cold_times(lambda run=run: run(s, *given))
        predicted_s = PREDICTED_S[name]
        line = f"{name}: predicted {predicted_s * 1e6:.2f} us, measured {kernels_s * 1e6:.2f} us"
        line += f" ({predicted_s / kernels_s - 1:+.0%}), {by_events_s * 1e6:.2f} us between events"
        if name == "kernel":
            line += f", {MOVED_BYTES / kernels_s * 1e-12:.2f} TB/s"
        print(line)


def main():
    wanted = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    wanted.add_argument("--check", action="store_true", help="check, and time nothing")
    wanted.add_argument("--benchmark", action="store_true", help="time, and check nothing")
    asked = wanted.parse_args()
    if DEVICE == "cpu" and not INTERPRETED:
        raise SystemExit("no GPU: set TRITON_INTERPRET=1 to check by Triton's interpreter")
    if not asked.benchmark:
        check()
    if DEVICE == "cuda" and not asked.check:
        benchmark()


if __name__ == "__main__":
    main()
'''
"""It reads CASES, TOLERANCE, PREDICTED_S, MOVED_BYTES, DEVICE, `elements`, `operands`, `fused` and
`reference`."""
