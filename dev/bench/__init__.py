"""Benchmarks of tapeless beside JAX on the same machine, in the same run.

    python -m dev.bench [--only REGEX] [--rounds 9] [--json OUT] [--list] [--ablation]

A *workload* is a function in `workloads/<group>.py`, written once against a module object `jax`,
that returns a function and its arguments. The *subject* (tapeless) and the *peer* (JAX) run it in
processes of their own, which take turns: round by round, each in the order opposite to the last
round's, while the other waits. A row's *ratio* is the peer's median over the subject's, so above
one tapeless is faster; its interval comes from the ratios of the single rounds, and a row whose
interval contains one is a draw.

Files: `registry.py` (what a workload is), `programs.py` (what several groups measure), `worker.py`
(the process that runs one), `rivals.py` (starts workers and asks them for measurements),
`report.py` (ratios, means, the table), `limits.py` (how fast this machine can be), `native.py`
(loops in C), `mechanisms.py` and `ablation.py` (what the mechanisms of the compiler buy).
"""

__all__ = []
