// The loops of _kernels.py on a GPU: the same integers, whatever the order of additions.

#define SHIFT 16
#define SHARED 8192

// Write what is known of each value's cell: the number of edges at or below it chooses the column
// of `look`.
//
// rows     records, `width` numbers each
// shape    records, width, rows of each look
// edges    of all columns, one after the other; `begin` says where a column's start (width + 1)
// look     of all columns; `place` says where a column's starts
// target   (look row * width + column) * records + record
extern "C" __global__ void encode(
    const double *__restrict__ rows, const long long *__restrict__ shape,
    const double *__restrict__ edges, const long long *__restrict__ begin,
    const int *__restrict__ look, const long long *__restrict__ place, int *__restrict__ target)
{
    const long long size = shape[0], width = shape[1], kinds = shape[2];
    const long long number = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const int column = blockIdx.y;
    if (number >= size)
        return;
    const double value = rows[number * width + column];
    const double *mine = edges + begin[column];
    const int count = (int)(begin[column + 1] - begin[column]);
    int low = 0, high = count;
    while (low < high) {
        const int middle = (low + high) >> 1;
        if (mine[middle] <= value)
            low = middle + 1;
        else
            high = middle;
    }
    for (int kind = 0; kind < kinds; ++kind)
        target[(kind * width + column) * size + number] =
            look[place[column] + (long long)kind * (count + 1) + low];
}

__device__ __forceinline__ int cell_of(
    const int *__restrict__ coordinates, long long size, long long number, int first, int last,
    const int *__restrict__ axis, const int *__restrict__ offset, const int *__restrict__ pace,
    const int *__restrict__ stride)
{
    int cell = 0;
    for (int k = first; k < last; ++k)
        cell += stride[k] * ((coordinates[axis[k] * size + number] + offset[k]) * pace[k] >> SHIFT);
    return cell;
}

// Add one to a cell of a table (one a row of the grid) for each record of a block's share.
extern "C" __global__ void count_cells(
    const int *__restrict__ coordinates, const long long *__restrict__ shape,
    const int *__restrict__ start, const int *__restrict__ axis, const int *__restrict__ offset,
    const int *__restrict__ pace, const int *__restrict__ stride,
    const long long *__restrict__ base, long long *counts)
{
    __shared__ unsigned int here[SHARED];
    const long long size = shape[0], share = shape[1];
    const int table = blockIdx.y, first = start[table], last = start[table + 1];
    const long long cells = base[table + 1] - base[table];
    const long long begin = blockIdx.x * share, end = min(begin + share, size);
    const bool fits = cells <= SHARED;
    if (fits)
        for (int k = threadIdx.x; k < cells; k += blockDim.x)
            here[k] = 0;
    __syncthreads();
    for (long long number = begin + threadIdx.x; number < end; number += blockDim.x) {
        const int cell = cell_of(
            coordinates, size, number, first, last, axis, offset, pace, stride);
        if (cell < 0 || cell >= cells)
            continue; // never, while coordinates are clamped: a wrong one must not write elsewhere
        if (fits)
            atomicAdd(here + cell, 1u);
        else
            atomicAdd((unsigned long long *)(counts + base[table] + cell), 1ull);
    }
    __syncthreads();
    if (fits)
        for (int k = threadIdx.x; k < cells; k += blockDim.x)
            if (here[k])
                atomicAdd(
                    (unsigned long long *)(counts + base[table] + k), (unsigned long long)here[k]);
}

// Add up what a record's values are worth by themselves, and what its cell of every table is.
extern "C" __global__ void add_scores(
    const int *__restrict__ coordinates, const long long *__restrict__ shape,
    const int *__restrict__ start, const int *__restrict__ axis, const int *__restrict__ offset,
    const int *__restrict__ pace, const int *__restrict__ stride,
    const long long *__restrict__ base, const int *__restrict__ worth, long long *scores)
{
    const long long size = shape[0], width = shape[1], tables = shape[2];
    const long long number = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (number >= size)
        return;
    long long total = 0;
    for (long long column = 0; column < width; ++column)
        total += coordinates[(2 * width + column) * size + number];
    for (int table = 0; table < tables; ++table) {
        const long long cells = base[table + 1] - base[table];
        const int cell = cell_of(coordinates, size, number, start[table], start[table + 1], axis,
                                 offset, pace, stride);
        if (cell >= 0 && cell < cells)
            total += worth[base[table] + cell];
    }
    scores[number] = total;
}
