! Regions of your own in hpctop, for Fortran.  Compile this file with your program; nothing else has to be linked.
!
!     use hpctop
!
!     call hpctop_begin("solve")
!     ...
!     call hpctop_end("solve")          ! without a name: the innermost region
!
! Without libtrace.so a call costs one branch.  include/README.md says what regions are.
module hpctop
    use, intrinsic :: iso_c_binding
    implicit none
    private
    public :: hpctop_begin, hpctop_end, hpctop_is_recorded

    ! What libtrace.so shows of itself, as in hpctop.h.
    type, bind(c) :: recorder_t
        integer(c_int) :: version
        type(c_funptr) :: number, begin, end
    end type recorder_t

    abstract interface
        function number_of(name) bind(c) result(number)
            import :: c_char, c_int
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int) :: number
        end function number_of
        subroutine mark(number) bind(c)
            import :: c_int
            integer(c_int), value :: number
        end subroutine mark
    end interface

    interface
        function c_dlsym(handle, name) bind(c, name="dlsym") result(address)
            import :: c_ptr, c_char
            type(c_ptr), value :: handle
            character(kind=c_char), intent(in) :: name(*)
            type(c_ptr) :: address
        end function c_dlsym
        function c_dlerror() bind(c, name="dlerror") result(text)
            import :: c_ptr
            type(c_ptr) :: text
        end function c_dlerror
    end interface

    integer, parameter :: not_looked_for = 0, absent = 1, found = 2
    integer, save :: state = not_looked_for
    procedure(number_of), pointer, save :: recorder_number => null()
    procedure(mark), pointer, save :: recorder_begin => null(), recorder_end => null()

contains

    ! Two threads that come here at the same time find the same.
    subroutine look_for_recorder()
        type(c_ptr) :: address, ignored
        type(recorder_t), pointer :: recorder
        address = c_dlsym(c_null_ptr, "hpctop_regions" // c_null_char)
        if (.not. c_associated(address)) then
            ignored = c_dlerror() ! the program must not find an error that is not its own
            state = absent
            return
        end if
        call c_f_pointer(address, recorder)
        call c_f_procpointer(recorder%number, recorder_number)
        call c_f_procpointer(recorder%begin, recorder_begin)
        call c_f_procpointer(recorder%end, recorder_end)
        state = found
    end subroutine look_for_recorder

    ! Whether libtrace.so is there.
    logical function hpctop_is_recorded()
        if (state == not_looked_for) call look_for_recorder()
        hpctop_is_recorded = state == found
    end function hpctop_is_recorded

    ! The calling thread enters a region; blanks at the end of the name do not count.
    subroutine hpctop_begin(name)
        character(*), intent(in) :: name
        if (state == absent) return
        if (hpctop_is_recorded()) call recorder_begin(recorder_number(trim(name) // c_null_char))
    end subroutine hpctop_begin

    ! The calling thread leaves the region with this name, or the innermost one.
    subroutine hpctop_end(name)
        character(*), intent(in), optional :: name
        if (state == absent) return
        if (.not. hpctop_is_recorded()) return
        if (present(name)) then
            call recorder_end(recorder_number(trim(name) // c_null_char))
        else
            call recorder_end(0_c_int)
        end if
    end subroutine hpctop_end
end module hpctop
