"""`python -m benchmarks`: every benchmark, one after the other, each printing its ratio or its figures."""

from benchmarks import (
    annotate_latency,
    annotators,
    bayes_overhead,
    epig_closed_form,
    explore_paint,
    greedy_batch,
    import_scale,
    kfac_closed_form,
    million,
)

for benchmark in (
    kfac_closed_form,
    bayes_overhead,
    epig_closed_form,
    greedy_batch,
    million,
    annotate_latency,
    annotators,
    explore_paint,
    import_scale,
):
    print(f"\n## {benchmark.__name__}: {benchmark.__doc__.splitlines()[0]}\n", flush=True)
    benchmark.main()
