! A wrapper in a module, and a program that calls it from two places.
module sums
   use mpi
   implicit none
contains
   function total(value) result(all)
      integer, intent(in) :: value
      integer :: all, ierror
      call MPI_Allreduce(value, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
   end function total
end module sums

program wrap
   use sums
   implicit none
   integer :: ierror, first, second
   call MPI_Init(ierror)
   first = total(1)
   second = total(first + 1)
   if (second < first) stop 1
   call MPI_Finalize(ierror)
end program wrap
