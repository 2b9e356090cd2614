"""The worker pool: native threads that share the chunks of a parallel loop.

A parallel loop is a *task*, a C function `int32_t task(void *context, int64_t chunk, int32_t
*stop)`, and a number of chunks. The emitter decides how many chunks there are from the extents
alone and writes each chunk so that its results do not depend on who runs it; so the number of
threads never changes a result, only the time.

`tapeless_parallel(task, context, count)` hands the chunks to whoever is free: a shared counter,
from which the caller and the workers take the next chunk; between chunks the caller looks for
signals. One job runs at a time. A caller that finds the pool busy (another Python thread, or a
task within a task) runs its chunks itself; nothing ever waits for the pool. Workers spin for some
microseconds after a job, then sleep on a condition variable. They block all signals, so that
signals reach Python's thread, and are started by the first job.

The pool is LLVM text, compiled once per process: it needs no Python thread, and no GIL. After a
fork the child has no workers; `reset` makes the pool forget them and start new ones when needed.

Protocol, all of it sequentially consistent: the caller raises `open`, then `generation`; a worker
that sees a new generation raises `active`, then looks at `open`. The caller lowers `open`, then
waits for `active` to be 0. Either the worker sees the pool closed, or the caller sees the worker.
"""

from __future__ import annotations

__all__ = ["pool_text"]

_SPINS = 400

_POOL = """
@wanted = internal global i64 0
@started = internal global i64 0
@busy = internal global i32 0, align 64
@active = internal global i32 0, align 64
@open = internal global i32 0, align 64
@generation = internal global i64 0, align 64
@sleepers = internal global i32 0, align 64
@next = internal global i64 0, align 64
@status = internal global i32 0, align 64
@task = internal global ptr null, align 64
@context = internal global ptr null
@count = internal global i64 0
@mutex = internal global [128 x i8] zeroinitializer, align 64
@wakeup = internal global [128 x i8] zeroinitializer, align 64

define void @tapeless_pool_limit(i64 %workers) {
  store atomic i64 %workers, ptr @wanted seq_cst, align 8
  ret void
}

define void @tapeless_pool_reset() {
  store i64 0, ptr @started
  store i32 0, ptr @busy
  store i32 0, ptr @active
  store i32 0, ptr @open
  store i32 0, ptr @sleepers
  call void @llvm.memset.p0.i64(ptr @mutex, i8 0, i64 128, i1 false)
  call void @llvm.memset.p0.i64(ptr @wakeup, i8 0, i64 128, i1 false)
  %a = call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  %b = call i32 @pthread_cond_init(ptr @wakeup, ptr null)
  ret void
}

define internal void @chunks() {
entry:
  %task = load ptr, ptr @task
  %context = load ptr, ptr @context
  %count = load i64, ptr @count
  br label %take
take:
  %failed = load atomic i32, ptr @status seq_cst, align 4
  %ok = icmp eq i32 %failed, 0
  br i1 %ok, label %ask, label %done
ask:
  %asked = call i32 @tapeless_poll(ptr null)
  %calm = icmp eq i32 %asked, 0
  br i1 %calm, label %fetch, label %halt
halt:
  %first = cmpxchg ptr @status, i32 0, i32 %asked seq_cst seq_cst
  br label %done
fetch:
  %chunk = atomicrmw add ptr @next, i64 1 seq_cst
  %more = icmp slt i64 %chunk, %count
  br i1 %more, label %run, label %done
run:
  %status = call i32 %task(ptr %context, i64 %chunk, ptr @status)
  %fine = icmp eq i32 %status, 0
  br i1 %fine, label %take, label %note
note:
  %old = cmpxchg ptr @status, i32 0, i32 %status seq_cst seq_cst
  br label %done
done:
  ret void
}

define internal ptr @worker(ptr %number) {
entry:
  %mine = ptrtoint ptr %number to i64
  %signals = alloca [128 x i8], align 16
  %f = call i32 @sigfillset(ptr %signals)
  %g = call i32 @pthread_sigmask(i32 SIG_BLOCK, ptr %signals, ptr null)
  br label %idle
idle:
  %seen = phi i64 [0, %entry], [%now, %leave]
  br label %spin
spin:
  %spins = phi i64 [0, %idle], [%spun, %pause]
  %early = load atomic i64, ptr @generation seq_cst, align 8
  %called = icmp ne i64 %early, %seen
  br i1 %called, label %join, label %pause
pause:
  PAUSE
  %spun = add i64 %spins, 1
  %tired = icmp sgt i64 %spun, SPINS
  br i1 %tired, label %sleep, label %spin
sleep:
  %l = call i32 @pthread_mutex_lock(ptr @mutex)
  %s = atomicrmw add ptr @sleepers, i32 1 seq_cst
  br label %look
look:
  %late = load atomic i64, ptr @generation seq_cst, align 8
  %awake = icmp ne i64 %late, %seen
  br i1 %awake, label %wake, label %wait
wait:
  %w = call i32 @pthread_cond_wait(ptr @wakeup, ptr @mutex)
  br label %look
wake:
  %t = atomicrmw sub ptr @sleepers, i32 1 seq_cst
  %u = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %join
join:
  %now = phi i64 [%early, %spin], [%late, %wake]
  %in = atomicrmw add ptr @active, i32 1 seq_cst
  %opened = load atomic i32, ptr @open seq_cst, align 4
  %some = icmp ne i32 %opened, 0
  %limit = load atomic i64, ptr @wanted seq_cst, align 8
  %within = icmp slt i64 %mine, %limit
  %welcome = and i1 %some, %within
  br i1 %welcome, label %work, label %leave
work:
  call void @chunks()
  br label %leave
leave:
  %out = atomicrmw sub ptr @active, i32 1 seq_cst
  br label %idle
}

define internal void @start(i64 %wanted) {
entry:
  %thread = alloca i64
  %first = load i64, ptr @started
  br label %loop
loop:
  %i = phi i64 [%first, %entry], [%n, %made]
  %more = icmp slt i64 %i, %wanted
  br i1 %more, label %make, label %done
make:
  %number = inttoptr i64 %i to ptr
  %r = call i32 @pthread_create(ptr %thread, ptr null, ptr @worker, ptr %number)
  %ok = icmp eq i32 %r, 0
  br i1 %ok, label %made, label %done
made:
  %id = load i64, ptr %thread
  %d = call i32 @pthread_detach(i64 %id)
  %n = add i64 %i, 1
  store i64 %n, ptr @started
  br label %loop
done:
  ret void
}

define i32 @tapeless_parallel(ptr %task, ptr %context, i64 %count) {
entry:
  %wanted = load atomic i64, ptr @wanted seq_cst, align 8
  %alone = icmp eq i64 %wanted, 0
  br i1 %alone, label %serial, label %claim
claim:
  %pair = cmpxchg ptr @busy, i32 0, i32 1 seq_cst seq_cst
  %mine = extractvalue {i32, i1} %pair, 1
  br i1 %mine, label %check, label %serial
check:
  %started = load i64, ptr @started
  %ready = icmp sge i64 %started, %wanted
  br i1 %ready, label %publish, label %begin
begin:
  call void @start(i64 %wanted)
  br label %publish
publish:
  store ptr %task, ptr @task
  store ptr %context, ptr @context
  store i64 %count, ptr @count
  store atomic i64 0, ptr @next seq_cst, align 8
  store atomic i32 0, ptr @status seq_cst, align 4
  store atomic i32 1, ptr @open seq_cst, align 4
  %g = atomicrmw add ptr @generation, i64 1 seq_cst
  %sleeping = load atomic i32, ptr @sleepers seq_cst, align 4
  %some = icmp ne i32 %sleeping, 0
  br i1 %some, label %call, label %share
call:
  %l = call i32 @pthread_mutex_lock(ptr @mutex)
  %b = call i32 @pthread_cond_broadcast(ptr @wakeup)
  %u = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %share
share:
  call void @chunks()
  store atomic i32 0, ptr @open seq_cst, align 4
  br label %wait
wait:
  %spins = phi i64 [0, %share], [%spun, %pause], [%spun, %yield], [%spun, %halt]
  %working = load atomic i32, ptr @active seq_cst, align 4
  %quiet = icmp eq i32 %working, 0
  br i1 %quiet, label %finish, label %pause
pause:
  PAUSE
  %spun = add i64 %spins, 1
  %tired = icmp sgt i64 %spun, SPINS
  br i1 %tired, label %yield, label %wait
yield:
  %y = call i32 @sched_yield()
  %asked = call i32 @tapeless_poll(ptr null)
  %calm = icmp eq i32 %asked, 0
  br i1 %calm, label %wait, label %halt
halt:
  store atomic i32 %asked, ptr @status seq_cst, align 4
  br label %wait
finish:
  %status = load atomic i32, ptr @status seq_cst, align 4
  store atomic i32 0, ptr @busy seq_cst, align 4
  ret i32 %status
serial:
  %none = icmp sle i64 %count, 0
  br i1 %none, label %done, label %loop
loop:
  %i = phi i64 [0, %serial], [%n, %more_left]
  %failed = call i32 %task(ptr %context, i64 %i, ptr null)
  %fine = icmp eq i32 %failed, 0
  br i1 %fine, label %following, label %fail
following:
  %n = add i64 %i, 1
  %more = icmp slt i64 %n, %count
  br i1 %more, label %more_left, label %done
more_left:
  %between = call i32 @tapeless_poll(ptr null)
  %go = icmp eq i32 %between, 0
  br i1 %go, label %loop, label %stop
stop:
  ret i32 %between
fail:
  ret i32 %failed
done:
  ret i32 0
}

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i32 @sched_yield()
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""


def pool_text(triple: str) -> str:
    """Give the LLVM text of the pool for a machine."""
    pause, declared = "call void @llvm.x86.sse2.pause()", "void @llvm.x86.sse2.pause()"
    if triple.startswith(("aarch64", "arm64")):
        pause, declared = "call void @llvm.aarch64.hint(i32 1)", "void @llvm.aarch64.hint(i32)"
    block = "1" if "darwin" in triple or "apple" in triple else "0"
    text = _POOL.replace("PAUSE", pause).replace("SIG_BLOCK", block)
    return f"{text.replace('SPINS', str(_SPINS))}declare {declared}\n"
