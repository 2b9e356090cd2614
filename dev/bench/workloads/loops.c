/* The loops of some workloads, as one would write them in C: a function for each, of its name.

   in:  the leaves of the workload's arguments, in order; out: room for those of its result.
   Integers are int32, other numbers float32. */

#include <math.h>

#define LOOP(name) void name(const void *const *in, void *const *out)

LOOP(scan_scalar_1e4)
{
    const float *xs = in[0];
    float *end = out[0], *ys = out[1], c = 0;
    for (int i = 0; i < 10000; i++) {
        ys[i] = c;
        c = 0.9f * c + xs[i];
    }
    *end = c;
}

/* The carry of `n` leaves; with n known to the compiler, it lives in registers if it can. */
static inline void leaves(const void *const *in, void *const *out, int n, int steps)
{
    float a[64], next[64], sum = 0;
    for (int k = 0; k < n; k++)
        a[k] = *(const float *)in[k];
    for (int i = 0; i < steps; i++) {
        for (int k = 0; k < n; k++)
            next[k] = 0.9f * a[k] + 0.1f * sinf(a[(k + 1) % n]);
        for (int k = 0; k < n; k++)
            a[k] = next[k];
    }
    for (int k = 0; k < n; k++)
        sum += a[k];
    *(float *)out[0] = sum;
}

LOOP(scan_4_leaves) { leaves(in, out, 4, 10000); }
LOOP(scan_16_leaves) { leaves(in, out, 16, 10000); }
LOOP(scan_60_leaves) { leaves(in, out, 60, 1000); }

/* The same with polynomials in the place of sines. */
static inline void algebra(const void *const *in, void *const *out, int n, int steps)
{
    float a[64], next[64], sum = 0;
    for (int k = 0; k < n; k++)
        a[k] = *(const float *)in[k];
    for (int i = 0; i < steps; i++) {
        for (int k = 0; k < n; k++) {
            float b = a[(k + 1) % n];
            next[k] = 0.9f * a[k] + 0.1f * b * (1.0f - b);
        }
        for (int k = 0; k < n; k++)
            a[k] = next[k];
    }
    for (int k = 0; k < n; k++)
        sum += a[k];
    *(float *)out[0] = sum;
}

LOOP(scan_4_leaves_algebra) { algebra(in, out, 4, 10000); }
LOOP(scan_16_leaves_algebra) { algebra(in, out, 16, 10000); }
LOOP(scan_60_leaves_algebra) { algebra(in, out, 60, 10000); }

LOOP(thomas)
{
    enum { N = 10000 };
    const float *a = in[0], *b = in[1], *c = in[2], *d = in[3];
    static float u[N], v[N];
    float *x = out[0], upper = 0, value = 0;
    for (int i = 0; i < N; i++) {
        float pivot = b[i] - a[i] * upper;
        value = (d[i] - a[i] * value) / pivot;
        upper = c[i] / pivot;
        u[i] = upper;
        v[i] = value;
    }
    value = 0;
    for (int i = N - 1; i >= 0; i--)
        x[i] = value = v[i] - u[i] * value;
}

static inline void slope(const float *s, float *d)
{
    d[0] = 10.0f * (s[1] - s[0]);
    d[1] = s[0] * (28.0f - s[2]) - s[1];
    d[2] = s[0] * s[1] - 2.6667f * s[2];
}

LOOP(runge_kutta)
{
    const float *start = in[0];
    float *end = out[0], s[3], t[3], a[3], b[3], c[3], d[3];
    for (int k = 0; k < 3; k++)
        s[k] = start[k];
    for (int i = 0; i < 1000; i++) {
        slope(s, a);
        for (int k = 0; k < 3; k++)
            t[k] = s[k] + 0.005f * a[k];
        slope(t, b);
        for (int k = 0; k < 3; k++)
            t[k] = s[k] + 0.005f * b[k];
        slope(t, c);
        for (int k = 0; k < 3; k++)
            t[k] = s[k] + 0.01f * c[k];
        slope(t, d);
        for (int k = 0; k < 3; k++)
            s[k] += (float)(0.01 / 6.0) * (a[k] + 2 * b[k] + 2 * c[k] + d[k]);
    }
    for (int k = 0; k < 3; k++)
        end[k] = s[k];
}

LOOP(matrix_carry)
{
    const float(*m)[3] = in[0], (*start)[3] = in[1];
    float(*end)[3] = out[0], x[3][3], y[3][3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            x[i][j] = start[i][j];
    for (int step = 0; step < 10000; step++) {
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                y[i][j] = m[i][0] * x[0][j] + m[i][1] * x[1][j] + m[i][2] * x[2][j];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                x[i][j] = y[i][j];
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            end[i][j] = x[i][j];
}

static inline int collatz_steps(int n)
{
    int count = 0;
    for (; n != 1; count++)
        n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    return count;
}

LOOP(collatz)
{
    const int *n = in[0];
    int *counts = out[0];
    for (int i = 0; i < 10000; i++)
        counts[i] = collatz_steps(n[i]);
}

LOOP(collatz_total)
{
    int total = 0;
    for (int i = 1; i < *(const int *)in[0]; i++)
        total += collatz_steps(i);
    *(int *)out[0] = total;
}

LOOP(gauss_seidel)
{
    enum { N = 128 };
    const float *start = in[0];
    float(*x)[N] = out[0];
    for (int i = 0; i < N * N; i++)
        x[0][i] = start[i];
    for (int sweep = 0; sweep < 10; sweep++)
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                x[i][j] = 0.25f * (x[i - 1][j] + x[i + 1][j] + x[i][j - 1] + x[i][j + 1]);
}
