"""`python -m benchmarks`: every benchmark, one after the other, each printing its ratio or its figures."""

from benchmarks import annotate_latency, bayes_overhead, kfac_closed_form

for benchmark in (kfac_closed_form, bayes_overhead, annotate_latency):
    print(f"\n## {benchmark.__name__}: {benchmark.__doc__.splitlines()[0]}\n", flush=True)
    benchmark.main()
