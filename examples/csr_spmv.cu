// Sparse matrix (CSR) times vector, in the two usual ways: a thread a row, and a warp a row. Rows come in a given order.
#include <cuda_runtime.h>

template <typename IndexT, typename ValueT>
__global__ void spmv_csr_scalar_kernel(const IndexT num_rows, const IndexT* Ap, const IndexT* Aj, const ValueT* Ax,
                                       const ValueT* x, ValueT* y) {
  const IndexT row = blockDim.x * blockIdx.x + threadIdx.x;
  if (row < num_rows) {
    ValueT sum = 0;
    for (IndexT jj = Ap[row]; jj < Ap[row + 1]; jj++) sum += Ax[jj] * x[Aj[jj]];
    y[row] += sum;
  }
}

template <typename IndexT, typename ValueT>
__global__ void spmv_csr_vector_kernel(const IndexT num_rows, const IndexT* order, const IndexT* Ap, const IndexT* Aj,
                                       const ValueT* Ax, const ValueT* x, ValueT* y) {
  const IndexT warp = (blockDim.x * blockIdx.x + threadIdx.x) / 32;
  const int lane = threadIdx.x & 31;
  if (warp >= num_rows) return;
  const IndexT row = order[warp];
  ValueT sum = 0;
  for (IndexT jj = Ap[row] + lane; jj < Ap[row + 1]; jj += 32) sum += Ax[jj] * x[Aj[jj]];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
  if (lane == 0) y[row] += sum;
}

void spmv(int num_rows, const int* order, const int* Ap, const int* Aj, const float* Ax, const float* x, float* y) {
  if (order == nullptr) {
    spmv_csr_scalar_kernel<int, float><<<(num_rows + 255) / 256, 256>>>(num_rows, Ap, Aj, Ax, x, y);
  } else {
    const int warps_per_block = 4;
    spmv_csr_vector_kernel<int, float>
        <<<(num_rows + warps_per_block - 1) / warps_per_block, 32 * warps_per_block>>>(num_rows, order, Ap, Aj, Ax, x, y);
  }
}
