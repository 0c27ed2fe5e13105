// Counts close records: the reference predicate of predicates.py, a tile of data at a time.
//
// A block holds a tile of the data in shared memory; each of its threads compares it with ROWS
// records of its own. Every operation is an intrinsic that rounds to nearest and is never fused
// with another, so each pair gets the verdict that plain double precision gives it anywhere else.
//
// The host defines KIND, WIDTH (columns), TILE (data records), ROWS, THREADS and UNROLL.

#define SQUARES 0
#define SUM 1
#define LARGEST 2
#define MIXED 3

__device__ __forceinline__ double step(double total, double difference, double scale)
{
#if KIND == SQUARES
    return __dadd_rn(total, __dmul_rn(difference, difference));
#elif KIND == SUM
    return __dadd_rn(total, difference);
#elif KIND == LARGEST
    return fmax(total, difference);
#else
    return __dadd_rn(total, scale > 0.0 ? __ddiv_rn(difference, scale)
                                        : (difference > 0.0 ? 1.0 : 0.0));
#endif
}

// The loop over pairs, for numbers of either precision. A judge adds up what a pair's columns
// differ by, and says whether a total is near.
//
// judge     how a pair is judged
// asked     the records asked about, WIDTH numbers each
// rows      which of them to count for
// data      the records looked at, WIDTH numbers each
// extent    how many rows, how many data records, how many of these for a block, the cap
// counts    for each record asked about, what has been found; added to
template <typename Number, typename Judge>
__device__ __forceinline__ void count_pairs(
    const Judge judge, const Number *__restrict__ asked, const long long *__restrict__ rows,
    const Number *__restrict__ data, const long long *__restrict__ extent, long long *counts)
{
    __shared__ Number tile[TILE * WIDTH];
    const long long size = extent[0], share = extent[2];
    const long long begin = blockIdx.y * share;
    const long long end = min(begin + share, extent[1]);

    Number mine[ROWS][WIDTH];
    long long row[ROWS], wanted[ROWS], found[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const long long place = ((long long)blockIdx.x * ROWS + r) * THREADS + threadIdx.x;
        row[r] = place < size ? rows[place] : -1;
        wanted[r] = row[r] < 0 ? 0 : extent[3] - counts[row[r]];
        found[r] = 0;
#pragma unroll UNROLL
        for (int c = 0; c < WIDTH; ++c)
            mine[r][c] = row[r] < 0 ? Number(0) : asked[row[r] * WIDTH + c];
    }

    for (long long first = begin; first < end; first += TILE) {
        bool open = false;
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
            open |= found[r] < wanted[r];
        // Also the barrier behind which the last tile has been read by everybody.
        if (!__syncthreads_or(open))
            break;
        const int present = (int)min((long long)TILE, end - first);
        for (int k = threadIdx.x; k < present * WIDTH; k += THREADS)
            tile[k] = data[first * WIDTH + k];
        __syncthreads();
        int near[ROWS] = {0};
#pragma unroll 2
        for (int j = 0; j < present; ++j) {
            Number total[ROWS] = {Number(0)};
#pragma unroll UNROLL
            for (int c = 0; c < WIDTH; ++c) {
                const Number other = tile[j * WIDTH + c];
#pragma unroll
                for (int r = 0; r < ROWS; ++r)
                    total[r] = judge.add(total[r], mine[r][c], other, c);
            }
#pragma unroll
            for (int r = 0; r < ROWS; ++r)
                near[r] += judge.near(total[r], row[r], first + j);
        }
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
            found[r] += near[r];
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        if (row[r] >= 0 && found[r] > 0)
            atomicAdd((unsigned long long *)(counts + row[r]), (unsigned long long)found[r]);
}

// Every pair by the predicate. `form` has the threshold, then the scale of each column.
struct Exactly {
    const double *__restrict__ form;
    double threshold;

    __device__ __forceinline__ double add(double total, double mine, double other, int c) const
    {
        return step(total, fabs(__dsub_rn(mine, other)), form[1 + c]);
    }

    __device__ __forceinline__ bool near(double total, long long, long long) const
    {
        return total <= threshold;
    }
};

extern "C" __global__ void count_tiles(
    const double *__restrict__ records, const long long *__restrict__ rows,
    const double *__restrict__ data, const double *__restrict__ form,
    const long long *__restrict__ extent, long long *counts)
{
    const Exactly judge = {form, form[0]};
    count_pairs(judge, records, rows, data, extent, counts);
}

// The same counts, most pairs judged in single precision: `singles` and `single_data` are the same
// records about a centre, rounded to float. A total up to band[0] is near and one above band[1] is
// far whatever the rounding did (proof.md, "A filter in single precision"); the few between are
// judged by the predicate in double precision.
#if KIND != MIXED
__device__ __noinline__ bool near_exactly(
    const double *__restrict__ record, const double *__restrict__ other, double threshold)
{
    double total = 0.0;
    for (int c = 0; c < WIDTH; ++c)
        total = step(total, fabs(__dsub_rn(record[c], other[c])), 1.0);
    return total <= threshold;
}

struct Filtered {
    const double *__restrict__ records;
    const double *__restrict__ data;
    const double *__restrict__ form;
    float surely, perhaps;

    __device__ __forceinline__ float add(float total, float mine, float other, int) const
    {
        const float difference = __fsub_rn(mine, other);
#if KIND == SQUARES
        return __fmaf_rn(difference, difference, total);
#elif KIND == SUM
        return __fadd_rn(total, fabsf(difference));
#else
        return fmaxf(total, fabsf(difference));
#endif
    }

    __device__ __forceinline__ bool near(float total, long long row, long long other) const
    {
        return total <= perhaps
            && (total <= surely
                || (row >= 0
                    && near_exactly(records + row * WIDTH, data + other * WIDTH, form[0])));
    }
};

extern "C" __global__ void count_filtered(
    const double *__restrict__ records, const long long *__restrict__ rows,
    const double *__restrict__ data, const double *__restrict__ form,
    const long long *__restrict__ extent, long long *counts,
    const float *__restrict__ singles, const float *__restrict__ single_data,
    const float *__restrict__ band)
{
    const Filtered judge = {records, data, form, band[0], band[1]};
    count_pairs(judge, singles, rows, single_data, extent, counts);
}
#endif
