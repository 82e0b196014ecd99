/* Facts of an executable, read from its file; it is never run. */
#include "tui/launch/record.h"
#include "trace/format/version.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void read_symbols(Elf *file, Elf_Scn *section, const GElf_Shdr *header, struct tui_elf *elf)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
    GElf_Sym symbol;
    for (size_t i = 0; data && i < n && gelf_getsym(data, (int)i, &symbol); i++) {
        const char *name = elf_strptr(file, header->sh_link, symbol.st_name);
        if (!name)
            continue;
        bool defined = symbol.st_shndx != SHN_UNDEF;
        bool function = GELF_ST_TYPE(symbol.st_info) == STT_FUNC;
        if (defined && function && strcmp(name, "PMPI_Init") == 0)
            elf->mpi_inside = true;
        if (defined && function && strcmp(name, "__asan_init") == 0)
            elf->asan_inside = true;
        if (!defined && (strncmp(name, "MPI_", 4) == 0 || strncmp(name, "mpi_", 4) == 0))
            elf->mpi_called = true;
        if (strcmp(name, "ncclAllReduce") == 0) {
            elf->nccl_inside = elf->nccl_inside || (defined && function);
            elf->nccl_called = elf->nccl_called || !defined;
        }
    }
}

/* Finds the newest version of glibc that the file needs. */
static void read_versions(Elf *file, Elf_Scn *section, const GElf_Shdr *header, struct tui_elf *elf)
{
    Elf_Data *data = elf_getdata(section, NULL);
    GElf_Verneed library;
    int newest = 0;
    for (int at = 0; data && gelf_getverneed(data, at, &library); at += (int)library.vn_next) {
        GElf_Vernaux need;
        for (int aux = at + (int)library.vn_aux; gelf_getvernaux(data, aux, &need); aux += (int)need.vna_next) {
            const char *name = elf_strptr(file, header->sh_link, need.vna_name);
            int major = 0, minor = 0;
            if (name && sscanf(name, "GLIBC_%d.%d", &major, &minor) == 2 && major * 1000 + minor > newest) {
                newest = major * 1000 + minor;
                snprintf(elf->glibc, sizeof elf->glibc, "%d.%d", major, minor);
            }
            if (!need.vna_next)
                break;
        }
        if (!library.vn_next)
            break;
    }
}

static void read_needed(Elf *file, Elf_Scn *section, const GElf_Shdr *header, struct tui_elf *elf)
{
    Elf_Data *data = elf_getdata(section, NULL);
    GElf_Dyn entry;
    for (int i = 0; data && gelf_getdyn(data, i, &entry); i++) {
        const char *name = entry.d_tag == DT_NEEDED ? elf_strptr(file, header->sh_link, entry.d_un.d_val) : NULL;
        if (name && (strncmp(name, "libasan.so", 10) == 0 || strncmp(name, "libclang_rt.asan", 16) == 0))
            snprintf(elf->asan_runtime, sizeof elf->asan_runtime, "%s", name);
    }
}

bool tui_asan_must_be_first(const char *runtime)
{
    int version;
    return sscanf(runtime, "libasan.so.%d", &version) == 1 && version <= 5; /* 5: GCC 8 and 9 */
}

static void read_dynamic(Elf *file, const GElf_Phdr *part, struct tui_elf *elf)
{
    Elf_Data *data = elf_getdata_rawchunk(file, (int64_t)part->p_offset, part->p_filesz, ELF_T_DYN);
    GElf_Dyn entry;
    elf->audits |= !data;
    for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++)
        elf->audits |= entry.d_tag == DT_AUDIT || entry.d_tag == DT_DEPAUDIT;
}

static void read_version(Elf_Scn *section, struct tui_elf *elf)
{
    Elf_Data *data = elf_getdata(section, NULL);
    if (data && data->d_buf)
        snprintf(elf->version, sizeof elf->version, "%.*s", (int)data->d_size, (const char *)data->d_buf);
}

static void read_file(Elf *file, int fd, struct tui_elf *elf)
{
    GElf_Ehdr head;
    GElf_Phdr part;
    size_t parts = 0, names = 0;
    if (!gelf_getehdr(file, &head))
        return;
    elf->is_elf = true;
    elf->machine = head.e_machine;
    elf_getphdrnum(file, &parts);
    elf_getshdrstrndx(file, &names);
    for (size_t i = 0; i < parts && gelf_getphdr(file, (int)i, &part); i++) {
        if (part.p_type == PT_INTERP && part.p_filesz < sizeof elf->interpreter) {
            elf->dynamic = pread(fd, elf->interpreter, part.p_filesz, (off_t)part.p_offset) > 0;
            elf->interpreter[part.p_filesz] = 0;
        }
        if (part.p_type == PT_DYNAMIC)
            read_dynamic(file, &part, elf);
    }
    for (Elf_Scn *section = elf_nextscn(file, NULL); section; section = elf_nextscn(file, section)) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header))
            continue;
        const char *name = elf_strptr(file, names, header.sh_name);
        if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)
            read_symbols(file, section, &header, elf);
        else if (header.sh_type == SHT_DYNAMIC)
            read_needed(file, section, &header, elf);
        else if (header.sh_type == SHT_GNU_verneed)
            read_versions(file, section, &header, elf);
        else if (name && strcmp(name, TRC_VERSION_SECTION) == 0)
            read_version(section, elf);
    }
}

bool tui_elf_read(const char *path, struct tui_elf *elf)
{
    char start[sizeof elf->interpreter] = "";
    *elf = (struct tui_elf){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (pread(fd, start, sizeof start - 1, 0) > 2 && start[0] == '#' && start[1] == '!') {
        elf->script = true;
        start[strcspn(start, "\n")] = 0;
        snprintf(elf->interpreter, sizeof elf->interpreter, "%s", start + 2 + strspn(start + 2, " \t"));
    }
    elf_version(EV_CURRENT);
    Elf *file = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (file && elf_kind(file) == ELF_K_ELF)
        read_file(file, fd, elf);
    if (file)
        elf_end(file);
    close(fd);
    return true;
}
