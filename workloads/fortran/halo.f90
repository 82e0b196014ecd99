! A halo exchange with mpi_f08: a plane of NX x NY cells a rank in a Cartesian grid; rows are contiguous, columns a
! vector type; MPI_Isend, MPI_Irecv, MPI_Waitall, with statuses in even steps and MPI_STATUSES_IGNORE in odd ones, and a
! residual summed in place.  Most calls leave ierror out.
! Truth: per step and side with a neighbour one MPI_Isend and MPI_Irecv of the column (NX doubles) or row (NY); four of
! each are called whatever the neighbours are; one MPI_Allreduce of a double.
program halo
  use mpi_f08
  use truth
  implicit none
  integer, parameter :: nx = 40, ny = 100, steps = 6
  double precision :: cell(0:nx + 1, 0:ny + 1), residual
  type(MPI_Comm) :: grid
  type(MPI_Datatype) :: row, column
  type(MPI_Request) :: request(8)
  type(MPI_Status) :: status(8)
  integer :: me, ranks, ierr, step, i, shape(2), place(2), left, right, down, up
  logical :: periodic(2)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  shape = 0
  periodic = [.true., .false.]
  call MPI_Dims_create(ranks, 2, shape)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, shape, periodic, .false., grid)
  call MPI_Cart_coords(grid, me, 2, place)
  call MPI_Cart_shift(grid, 0, 1, left, right)
  call MPI_Cart_shift(grid, 1, 1, down, up)
  ! The first index runs fastest: cell(i, 1:ny) is a vector, cell(1:nx, j) is contiguous.
  call MPI_Type_vector(ny, 1, nx + 2, MPI_DOUBLE_PRECISION, row)
  call MPI_Type_contiguous(nx, MPI_DOUBLE_PRECISION, column)
  call MPI_Type_commit(row)
  call MPI_Type_commit(column)
  cell = me
  do step = 1, steps
    call MPI_Irecv(cell(0, 1), 1, row, left, 1, grid, request(1))
    call MPI_Irecv(cell(nx + 1, 1), 1, row, right, 2, grid, request(2))
    call MPI_Irecv(cell(1, 0), 1, column, down, 3, grid, request(3))
    call MPI_Irecv(cell(1, ny + 1), 1, column, up, 4, grid, request(4))
    call MPI_Isend(cell(nx, 1), 1, row, right, 1, grid, request(5))
    call MPI_Isend(cell(1, 1), 1, row, left, 2, grid, request(6))
    call MPI_Isend(cell(1, ny), 1, column, up, 3, grid, request(7))
    call MPI_Isend(cell(1, 1), 1, column, down, 4, grid, request(8))
    if (mod(step, 2) == 0) then
      call MPI_Waitall(8, request, status)
      if (status(1)%MPI_SOURCE /= left .or. status(1)%MPI_TAG /= 1) stop 2
    else
      call MPI_Waitall(8, request, MPI_STATUSES_IGNORE)
    end if
    do i = 1, 8
      if (request(i) /= MPI_REQUEST_NULL) stop 3
    end do
    if (cell(0, 1) /= left .or. cell(nx + 1, ny) /= right) stop 4
    residual = 1
    call MPI_Allreduce(MPI_IN_PLACE, residual, 1, MPI_DOUBLE_PRECISION, MPI_SUM, grid)
    if (residual /= ranks) stop 5
  end do
  call MPI_Type_free(row)
  call MPI_Type_free(column)
  call MPI_Comm_free(grid)
  if (me == 0) call answer()
  call MPI_Finalize(ierr)
contains
  subroutine answer()
    integer :: r, x, y
    call frame(ranks)
    do r = 0, ranks - 1
      x = r / shape(2)
      y = mod(r, shape(2))
      call message(r, 'MPI_Isend', mod(x + 1, shape(1)) * shape(2) + y, 'MPI_Irecv', steps, 8 * ny)
      call message(r, 'MPI_Isend', mod(x + shape(1) - 1, shape(1)) * shape(2) + y, 'MPI_Irecv', steps, 8 * ny)
      if (y + 1 < shape(2)) call message(r, 'MPI_Isend', r + 1, 'MPI_Irecv', steps, 8 * nx)
      if (y > 0) call message(r, 'MPI_Isend', r - 1, 'MPI_Irecv', steps, 8 * nx)
      ! The calls that go nowhere.
      if (y + 1 >= shape(2)) call call_of(r, 'MPI_Isend', steps, 0, 0)
      if (y == 0) call call_of(r, 'MPI_Isend', steps, 0, 0)
      if (y + 1 >= shape(2)) call call_of(r, 'MPI_Irecv', steps, 0, 0)
      if (y == 0) call call_of(r, 'MPI_Irecv', steps, 0, 0)
    end do
    call each(ranks, 'MPI_Waitall', steps, 0, 0)
    call each(ranks, 'MPI_Allreduce', steps, 8 * steps, 8 * steps)
    call each(ranks, 'MPI_Dims_create', 1, 0, 0)
    call each(ranks, 'MPI_Cart_create', 1, 0, 0)
    call each(ranks, 'MPI_Cart_coords', 1, 0, 0)
    call each(ranks, 'MPI_Cart_shift', 2, 0, 0)
    call each(ranks, 'MPI_Type_vector', 1, 0, 0)
    call each(ranks, 'MPI_Type_contiguous', 1, 0, 0)
    call each(ranks, 'MPI_Type_commit', 2, 0, 0)
    call each(ranks, 'MPI_Type_free', 2, 0, 0)
    call each(ranks, 'MPI_Comm_free', 1, 0, 0)
    call write_truth(ranks)
  end subroutine
end program
