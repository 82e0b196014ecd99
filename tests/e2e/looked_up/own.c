/* A library that is none of MPI, and has a function of such a name. */
int MPI_Init(void *argc, void *argv)
{
    return argc || argv ? 0 : 42;
}
