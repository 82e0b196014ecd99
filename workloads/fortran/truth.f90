! What a run must look like in a trace: ../truth.h for Fortran, with the same meanings.  Knows no MPI.
module truth
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: call_of, each, frame, message, write_truth
  interface
    subroutine f_call(rank, name, calls, sent, received) bind(c)
      import
      integer(c_int), value :: rank
      character(kind=c_char), intent(in) :: name(*)
      integer(c_long), value :: calls
      integer(c_long_long), value :: sent, received
    end subroutine
    subroutine f_pair(source, destination, messages, bytes) bind(c)
      import
      integer(c_int), value :: source, destination
      integer(c_long), value :: messages
      integer(c_long_long), value :: bytes
    end subroutine
    integer(c_int) function f_write(ranks) bind(c)
      import
      integer(c_int), value :: ranks
    end function
  end interface
contains
  ! `calls` calls of `name` on a rank, which move `sent` and `received` bytes together.
  subroutine call_of(rank, name, calls, sent, received)
    integer, intent(in) :: rank, calls, sent, received
    character(*), intent(in) :: name
    call f_call(rank, name // c_null_char, int(calls, c_long), int(sent, c_long_long), int(received, c_long_long))
  end subroutine
  subroutine each(ranks, name, calls, sent, received)
    integer, intent(in) :: ranks, calls, sent, received
    character(*), intent(in) :: name
    integer :: r
    do r = 0, ranks - 1
      call call_of(r, name, calls, sent, received)
    end do
  end subroutine
  ! What every workload does once on each rank.
  subroutine frame(ranks)
    integer, intent(in) :: ranks
    call each(ranks, 'MPI_Init', 1, 0, 0)
    call each(ranks, 'MPI_Comm_rank', 1, 0, 0)
    call each(ranks, 'MPI_Comm_size', 1, 0, 0)
    call each(ranks, 'MPI_Finalize', 1, 0, 0)
  end subroutine
  ! `messages` messages of `bytes` bytes, each started by one call of `send` there and of `receive` here.
  subroutine message(source, send, destination, receive, messages, bytes)
    integer, intent(in) :: source, destination, messages, bytes
    character(*), intent(in) :: send, receive
    call call_of(source, send, messages, messages * bytes, 0)
    call call_of(destination, receive, messages, 0, messages * bytes)
    call f_pair(source, destination, int(messages, c_long), int(bytes, c_long_long))
  end subroutine
  ! Rank 0, after everything was stated.
  subroutine write_truth(ranks)
    integer, intent(in) :: ranks
    if (f_write(ranks) /= 0) stop 1
  end subroutine
end module
