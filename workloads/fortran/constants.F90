! What Fortran knows by its address, and what only Fortran does: MPI_BOTTOM, MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY,
! MPI_IN_PLACE, LOGICAL both ways, text with blanks on either side, ierr as it is and (mpi_f08) left out; built for each
! binding.  Rank 0 prints what it was given, which must be the same with and without libtrace.so.
! Truth: to the next rank 12 bytes from absolute addresses by MPI_Sendrecv and by MPI_Isend, a broadcast of 12, a gather of
! 8 among neighbours of a graph without weights; calls that fail move nothing.
#include "binding.inc"
#if defined(BINDING_f08)
#define INFO     type(MPI_Info)
#define OP       type(MPI_Op)
#define AND_IERR
#else
#define INFO     integer
#define OP       integer
#define AND_IERR , ierr
#endif
program constants
  USE_MPI
  use truth
  implicit none
  INCLUDE_MPI
  COMM :: copy, graph, grid
  DATATYPE :: absolute_out, absolute_in
  REQUEST :: request(2)
  GROUP :: members
  INFO :: info
  OP :: first
  STATUS(one)
  integer :: me, ranks, ierr, next, before, length, n_in, n_out, sources(1), destinations(1), degrees(1), shape(2), place(2)
  integer :: got(2), mine(2), total, error, class, none(1), tag
  integer, volatile :: out(3), in(3)
  integer(MPI_ADDRESS_KIND) :: at(1), value
  integer, parameter :: lengths(1) = [3]
  logical :: flag, periodic(2), seen(2), weighted
  character(len=MPI_MAX_OBJECT_NAME) :: name
  character(len=24) :: text
#if defined(BINDING_f08)
  procedure(MPI_User_function) :: take_first
#else
  external :: take_first
#endif

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  next = mod(me + 1, ranks)
  before = mod(me + ranks - 1, ranks)
  ierr = 4711
  call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierr)
  if (ierr /= MPI_SUCCESS) stop 2

  ! Absolute addresses.
  call MPI_Get_address(out, at(1), ierr)
  call MPI_Type_create_hindexed(1, lengths, at, MPI_INTEGER, absolute_out, ierr)
  call MPI_Get_address(in, at(1), ierr)
  call MPI_Type_create_hindexed(1, lengths, at, MPI_INTEGER, absolute_in, ierr)
  call MPI_Type_commit(absolute_out, ierr)
  call MPI_Type_commit(absolute_in, ierr)
  out = me
  in = -1
  call MPI_Sendrecv(MPI_BOTTOM, 1, absolute_out, next, 1, MPI_BOTTOM, 1, absolute_in, before, 1, copy, MPI_STATUS_IGNORE, ierr)
  if (any(in /= before)) stop 3
  in = -1
  call MPI_Irecv(MPI_BOTTOM, 1, absolute_in, before, 2, copy, request(1), ierr)
  call MPI_Isend(MPI_BOTTOM, 1, absolute_out, next, 2, copy, request(2), ierr)
  call MPI_Waitall(2, request, MPI_STATUSES_IGNORE, ierr)
  if (any(in /= before)) stop 4
  in = 7 + me
  call MPI_Bcast(MPI_BOTTOM, 1, absolute_in, ranks - 1, copy, ierr)
  if (any(in /= 6 + ranks)) stop 5
  call MPI_Type_free(absolute_out, ierr)
  call MPI_Type_free(absolute_in, ierr)

  ! Weights.
  sources(1) = before
  destinations(1) = next
  call MPI_Dist_graph_create_adjacent(copy, 1, sources, MPI_UNWEIGHTED, 1, destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, &
                                      .false., graph, ierr)
  call MPI_Dist_graph_neighbors_count(graph, n_in, n_out, weighted, ierr)
  if (n_in /= 1 .or. n_out /= 1 .or. weighted) stop 6
  call MPI_Dist_graph_neighbors(graph, 1, sources, MPI_UNWEIGHTED, 1, destinations, none, ierr)
  if (sources(1) /= before .or. destinations(1) /= next) stop 7
  mine = me
  call MPI_Neighbor_allgather(mine, 2, MPI_INTEGER, got, 2, MPI_INTEGER, graph, ierr)
  if (any(got /= before)) stop 8
  call MPI_Comm_free(graph, ierr)
  none = 0
  call MPI_Dist_graph_create_adjacent(copy, 0, none, MPI_WEIGHTS_EMPTY, 0, none, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, .false., &
                                      graph, ierr)
  call MPI_Dist_graph_neighbors_count(graph, n_in, n_out, weighted, ierr)
  if (n_in /= 0 .or. n_out /= 0 .or. .not. weighted) stop 9
  call MPI_Comm_free(graph, ierr)
  sources(1) = me
  degrees(1) = 1
  call MPI_Dist_graph_create(copy, 1, sources, degrees, destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, .true., graph, ierr)
  call MPI_Comm_free(graph, ierr)

  ! LOGICAL in and out.
  shape = [ranks, 1]
  periodic = [.true., .false.]
  call MPI_Cart_create(copy, 2, shape, periodic, .false., grid, ierr)
  seen = .not. periodic
  call MPI_Cart_get(grid, 2, shape, seen, place, ierr)
  if (any(seen .neqv. periodic)) stop 10
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierr)
  if (.not. flag .or. value < 32767) stop 11
  call MPI_Iprobe(MPI_ANY_SOURCE, 99, copy, flag, MPI_STATUS_IGNORE, ierr)
  if (flag) stop 12
  call MPI_Op_create(take_first, .false., first, ierr)
  call MPI_Op_commutative(first, flag, ierr)
  if (flag) stop 13
  call MPI_Allreduce(me, total, 1, MPI_INTEGER, first, copy, ierr)
  if (total /= 0) stop 20
  call MPI_Op_free(first, ierr)
  total = 1
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, copy, ierr)
  if (total /= ranks) stop 14

  ! Blanks around text do not count; within it they do.
  call MPI_Comm_set_name(grid, '  a grid of ranks   ', ierr)
  name = repeat('x', len(name))
  call MPI_Comm_get_name(grid, name, length, ierr)
  if (len_trim(name) /= length) stop 15
  if (me == 0) print '(3a, i0)', 'name [', trim(name), '] ', length
  call MPI_Info_create(info, ierr)
  call MPI_Info_set(info, ' key of mine  ', '  its value ', ierr)
  text = repeat('x', len(text))
  call MPI_Info_get(info, 'key of mine', len(text), text, flag, ierr)
  if (.not. flag) stop 16
  if (me == 0) print '(3a)', 'info [', text, ']'
  call MPI_Info_get(info, 'another', len(text), text, flag, ierr)
  if (flag) stop 17
  call MPI_Info_free(info, ierr)

  ! Errors are the library's own, to the last digit.
  call MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN, ierr)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierr)
  call MPI_Send(mine, 1, MPI_INTEGER, ranks + 7, 3, copy, error)
  call told('rank', error, MPI_ERR_RANK)
  call MPI_Send(mine, 1, MPI_INTEGER, next, -55, copy, error)
  call told('tag', error, MPI_ERR_TAG)
  call MPI_Send(mine, -1, MPI_INTEGER, next, 3, copy, error)
  call told('count', error, MPI_ERR_COUNT)
  call MPI_Comm_group(MPI_COMM_NULL, members, error)
  call told('comm', error, MPI_ERR_COMM)
  call MPI_Recv(got, 2, MPI_INTEGER, -99, 4, copy, one, error)
  call told('source', error, MPI_ERR_RANK)
  ! Without ierr, where that can be left out: the program goes on, here because it wants errors back.
  call MPI_Send(mine, 1, MPI_INTEGER, ranks + 7, 3, copy AND_IERR)
  tag = 5
  call MPI_Sendrecv(mine, 2, MPI_INTEGER, next, tag, got, 2, MPI_INTEGER, before, tag, copy, MPI_STATUS_IGNORE AND_IERR)
  if (any(got /= before)) stop 18
  call MPI_Comm_free(grid AND_IERR)
  call MPI_Comm_free(copy AND_IERR)
  if (me == 0) call answer()
  call MPI_Finalize(ierr)
contains
  subroutine told(what, error, wanted)
    character(*), intent(in) :: what
    integer, intent(in) :: error, wanted
    call MPI_Error_class(error, class, ierr)
    if (me == 0) print '(2a, i0, a, i0)', what, ' ', error, ' of class ', class
    if (class /= wanted) stop 19
  end subroutine
  subroutine answer()
    integer :: r, to
    call frame(ranks)
    do r = 0, ranks - 1
      to = mod(r + 1, ranks)
      call message(r, 'MPI_Sendrecv', to, 'MPI_Sendrecv', 1, 12)
      call message(r, 'MPI_Sendrecv', to, 'MPI_Sendrecv', 1, 8)
      call call_of(r, 'MPI_Sendrecv', -2, 0, 0) ! one call is both
      call message(r, 'MPI_Isend', to, 'MPI_Irecv', 1, 12)
      call call_of(r, 'MPI_Bcast', 1, merge(12, 0, r == ranks - 1), merge(0, 12, r == ranks - 1))
    end do
    call each(ranks, 'MPI_Neighbor_allgather', 1, 8, 8)
    call each(ranks, 'MPI_Allreduce', 2, 8, 8)
    call each(ranks, 'MPI_Waitall', 1, 0, 0)
    call each(ranks, 'MPI_Recv', 1, 0, 0)
    call each(ranks, 'MPI_Send', 4, 0, 0)
    call each(ranks, 'MPI_Error_class', 5, 0, 0)
    call each(ranks, 'MPI_Comm_free', 5, 0, 0)
    call each(ranks, 'MPI_Comm_set_errhandler', 3, 0, 0)
    call each(ranks, 'MPI_Dist_graph_create_adjacent', 2, 0, 0)
    call each(ranks, 'MPI_Dist_graph_neighbors_count', 2, 0, 0)
    call each(ranks, 'MPI_Get_address', 2, 0, 0)
    call each(ranks, 'MPI_Type_create_hindexed', 2, 0, 0)
    call each(ranks, 'MPI_Type_commit', 2, 0, 0)
    call each(ranks, 'MPI_Type_free', 2, 0, 0)
    call each(ranks, 'MPI_Info_get', 2, 0, 0)
    call once('MPI_Comm_dup')
    call once('MPI_Dist_graph_neighbors')
    call once('MPI_Dist_graph_create')
    call once('MPI_Cart_create')
    call once('MPI_Cart_get')
    call once('MPI_Comm_get_attr')
    call once('MPI_Iprobe')
    call once('MPI_Op_create')
    call once('MPI_Op_commutative')
    call once('MPI_Op_free')
    call once('MPI_Comm_set_name')
    call once('MPI_Comm_get_name')
    call once('MPI_Info_create')
    call once('MPI_Info_set')
    call once('MPI_Info_free')
    call once('MPI_Comm_group')
    call write_truth(ranks)
  end subroutine
  subroutine once(name)
    character(*), intent(in) :: name
    call each(ranks, name, 1, 0, 0)
  end subroutine
end program
! The first of two values, so that it matters which is first.
#if defined(BINDING_f08)
subroutine take_first(in, inout, n, kind)
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  type(c_ptr), value :: in, inout
  integer :: n
  type(MPI_Datatype) :: kind
  integer, pointer :: from(:), to(:)
  call c_f_pointer(in, from, [n])
  call c_f_pointer(inout, to, [n])
  if (kind == MPI_INTEGER) to = from
end subroutine
#else
subroutine take_first(in, inout, n, kind)
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: n, kind, in(n), inout(n)
  if (kind == MPI_INTEGER) inout = in
end subroutine
#endif
