! The ping-pong of the textbooks, in fixed form with mpif.h: rank 0 takes length and rounds from its arguments
! (default 1000 REALs, 20), tells them to all with MPI_BCAST, and plays with rank 1 in MPI_SSEND and MPI_RECV.
! Truth: two MPI_Bcast of one INTEGER; `rounds` MPI_Ssend and MPI_Recv of 4 * length bytes each way.
      PROGRAM CLASSIC
      USE TRUTH
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      INTEGER MOST
      PARAMETER (MOST = 1000000)
      INTEGER PING, PONG
      PARAMETER (PING = 17, PONG = 18)
      INTEGER IERR, ME, RANKS, LENGTH, ROUNDS, I
      INTEGER STATUS(MPI_STATUS_SIZE)
      DOUBLE PRECISION BEGIN, TOOK
      REAL BUFFER(MOST)
      CHARACTER*16 WORD

      CALL MPI_INIT(IERR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, ME, IERR)
      CALL MPI_COMM_SIZE(MPI_COMM_WORLD, RANKS, IERR)
      LENGTH = 0
      ROUNDS = 0
      IF (ME .EQ. 0) THEN
        LENGTH = 1000
        ROUNDS = 20
        IF (COMMAND_ARGUMENT_COUNT() .GE. 2) THEN
          CALL GETARG(1, WORD)
          READ (WORD, *) LENGTH
          CALL GETARG(2, WORD)
          READ (WORD, *) ROUNDS
        END IF
        IF (LENGTH .GT. MOST) LENGTH = MOST
      END IF
      CALL MPI_BCAST(LENGTH, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, IERR)
      CALL MPI_BCAST(ROUNDS, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, IERR)
      DO 10 I = 1, LENGTH
        BUFFER(I) = ME
   10 CONTINUE
      BEGIN = MPI_WTIME()
      IF (RANKS .GT. 1) THEN
        DO 20 I = 1, ROUNDS
          IF (ME .EQ. 0) THEN
            CALL MPI_SSEND(BUFFER, LENGTH, MPI_REAL, 1, PING,
     &                     MPI_COMM_WORLD, IERR)
            CALL MPI_RECV(BUFFER, LENGTH, MPI_REAL, 1, PONG,
     &                    MPI_COMM_WORLD, STATUS, IERR)
          ELSE IF (ME .EQ. 1) THEN
            CALL MPI_RECV(BUFFER, LENGTH, MPI_REAL, 0, PING,
     &                    MPI_COMM_WORLD, STATUS, IERR)
            CALL MPI_SSEND(BUFFER, LENGTH, MPI_REAL, 0, PONG,
     &                     MPI_COMM_WORLD, IERR)
          END IF
   20   CONTINUE
      END IF
      TOOK = MPI_WTIME() - BEGIN
      IF (ME .EQ. 0) THEN
        WRITE (*, *) 'bytes', LENGTH * 4, ' seconds', TOOK
        CALL FRAME(RANKS)
        CALL CALL_OF(0, 'MPI_Bcast', 2, 8, 0)
        DO 30 I = 1, RANKS - 1
          CALL CALL_OF(I, 'MPI_Bcast', 2, 0, 8)
   30   CONTINUE
        IF (RANKS .GT. 1) THEN
          CALL MESSAGE(0, 'MPI_Ssend', 1, 'MPI_Recv', ROUNDS, LENGTH*4)
          CALL MESSAGE(1, 'MPI_Ssend', 0, 'MPI_Recv', ROUNDS, LENGTH*4)
        END IF
        CALL WRITE_TRUTH(RANKS)
      END IF
      CALL MPI_FINALIZE(IERR)
      END
