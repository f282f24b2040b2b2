/* A preloaded library that knows what a power cut would keep.
 *
 * It journals, for files below POWERCUT_ROOT, what was created, renamed, removed, cut and synced, so that a harness can
 * put the directory back to what a disk was promised. Data counts as kept up to the size at its last successful fsync or
 * fdatasync; a name counts as kept once its directory was synced. Replaced and removed files are kept as hard links in
 * POWERCUT_SAVED, so that an unsynced rename or unlink can be undone.
 *
 * POWERCUT_ROOT     directory to watch (absolute)
 * POWERCUT_JOURNAL  file that events are appended to (outside the root)
 * POWERCUT_SAVED    directory for hard links (outside the root, same file system)
 * POWERCUT_STOP_AT  the process kills itself with SIGKILL before its n-th watched call (0 = never)
 * POWERCUT_LIE      syncs of paths that contain this text succeed without syncing, as if the call were missing
 * POWERCUT_COUNT    file that receives the number of watched calls at exit
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char root[PATH_MAX], saved[PATH_MAX], lie[256];
static size_t root_length;
static int journal = -1;
static atomic_long calls, links;
static long stop_at;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void start(void) {
  const char *r = getenv("POWERCUT_ROOT"), *j = getenv("POWERCUT_JOURNAL"), *s = getenv("POWERCUT_SAVED");
  if (!r || !j || !s) return;
  snprintf(root, sizeof root, "%s", r);
  snprintf(saved, sizeof saved, "%s", s);
  root_length = strlen(root);
  const char *l = getenv("POWERCUT_LIE");
  if (l) snprintf(lie, sizeof lie, "%s", l);
  const char *n = getenv("POWERCUT_STOP_AT");
  if (n) stop_at = atol(n);
  journal = (int)syscall(SYS_openat, AT_FDCWD, j, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

__attribute__((destructor)) static void finish(void) {
  const char *path = getenv("POWERCUT_COUNT");
  if (journal < 0 || !path) return;
  char text[32];
  int length = snprintf(text, sizeof text, "%ld\n", (long)atomic_load(&calls));
  int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd >= 0) {
    syscall(SYS_write, fd, text, length);
    syscall(SYS_close, fd);
  }
}

static int watched(const char *path) {
  return journal >= 0 && strncmp(path, root, root_length) == 0 && (path[root_length] == '/' || path[root_length] == 0);
}

/* Absolute path of (dirfd, path); 0 when it cannot be told. */
static int resolve(int dirfd, const char *path, char *out) {
  if (journal < 0 || !path) return 0;
  if (path[0] == '/') return snprintf(out, PATH_MAX, "%s", path) < PATH_MAX;
  char base[PATH_MAX];
  if (dirfd == AT_FDCWD) {
    if (!getcwd(base, sizeof base)) return 0;
  } else {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", dirfd);
    ssize_t n = readlink(link, base, sizeof base - 1);
    if (n < 0) return 0;
    base[n] = 0;
  }
  return snprintf(out, PATH_MAX, "%s/%s", base, path) < PATH_MAX;
}

static int path_of(int fd, char *out) {
  char link[64];
  if (journal < 0 || fd < 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, out, PATH_MAX - 1);
  if (n < 0) return 0;
  out[n] = 0;
  return watched(out);
}

/* One watched call is about to be made. */
static void step(const char *what, const char *path) {
  long n = atomic_fetch_add(&calls, 1) + 1;
  if (stop_at && n == stop_at) {
    char text[PATH_MAX + 64];
    int length = snprintf(text, sizeof text, "stop\t%s\t%s\n", what, path);
    syscall(SYS_write, journal, text, length);
    syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    for (;;) pause();
  }
}

static void note(const char *format, ...) {
  char text[3 * PATH_MAX];
  va_list args;
  va_start(args, format);
  int length = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (length > 0) syscall(SYS_write, journal, text, length);
}

static unsigned long inode_of(const char *path, long long *size) {
  struct stat st;
  if (lstat(path, &st) != 0) return 0;
  if (size) *size = (long long)st.st_size;
  return (unsigned long)st.st_ino;
}

/* Keeps what a name pointed to; the kept link's number, 0 when there was nothing. */
static long keep(const char *path) {
  struct stat st;
  if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode)) return 0;
  long n = atomic_fetch_add(&links, 1) + 1;
  char to[2 * PATH_MAX];
  snprintf(to, sizeof to, "%s/%ld.%ld", saved, (long)getpid(), n);
  if (syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, to, 0) != 0) return 0;
  return n;
}

static int opened(int dirfd, const char *path, int flags, mode_t mode) {
  char full[PATH_MAX];
  int watch = resolve(dirfd, path, full) && watched(full);
  int creates = watch && (flags & O_CREAT) && access(full, F_OK) != 0;
  int cuts = watch && (flags & O_TRUNC) && !creates;
  if (creates || cuts) step(creates ? "create" : "cut", full);
  int fd = (int)syscall(SYS_openat, dirfd, path, flags, mode);
  int error = errno;
  if (fd >= 0 && creates) note("create\t%lu\t%s\n", inode_of(full, NULL), full);
  if (fd >= 0 && cuts) note("cut\t%lu\t0\n", inode_of(full, NULL));
  errno = error;
  return fd;
}

#define OPEN_MODE(flags)                                 \
  mode_t mode = 0;                                       \
  if ((flags) & (O_CREAT | __O_TMPFILE)) {               \
    va_list args;                                        \
    va_start(args, flags);                               \
    mode = va_arg(args, mode_t);                         \
    va_end(args);                                        \
  }

int open(const char *path, int flags, ...) { OPEN_MODE(flags) return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { OPEN_MODE(flags) return opened(AT_FDCWD, path, flags | O_LARGEFILE, mode); }
int openat(int dirfd, const char *path, int flags, ...) { OPEN_MODE(flags) return opened(dirfd, path, flags, mode); }
int openat64(int dirfd, const char *path, int flags, ...) { OPEN_MODE(flags) return opened(dirfd, path, flags | O_LARGEFILE, mode); }
int creat(const char *path, mode_t mode) { return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

FILE *fopen(const char *path, const char *how) {
  char full[PATH_MAX];
  int watch = resolve(AT_FDCWD, path, full) && watched(full) && how[0] != 'r';
  int creates = watch && access(full, F_OK) != 0;
  if (watch) step("create", full);
  FILE *file = REAL(fopen)(path, how);
  if (file && creates) note("create\t%lu\t%s\n", inode_of(full, NULL), full);
  return file;
}
FILE *fopen64(const char *path, const char *how) { return fopen(path, how); }

static void about_to_write(int fd) {
  char path[PATH_MAX];
  if (path_of(fd, path)) step("write", path);
}
ssize_t write(int fd, const void *data, size_t size) { about_to_write(fd); return REAL(write)(fd, data, size); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { about_to_write(fd); return REAL(pwrite)(fd, data, size, at); }
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) { about_to_write(fd); return REAL(pwrite64)(fd, data, size, at); }
ssize_t writev(int fd, const struct iovec *parts, int count) { about_to_write(fd); return REAL(writev)(fd, parts, count); }
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) { about_to_write(fd); return REAL(pwritev)(fd, parts, count, at); }

static int synced(int fd, int (*real)(int)) {
  char path[PATH_MAX];
  if (!path_of(fd, path)) return real(fd);
  struct stat st;
  if (fstat(fd, &st) != 0) return real(fd);
  step(S_ISDIR(st.st_mode) ? "syncdir" : "sync", path);
  if (lie[0] && strstr(path, lie)) return 0;
  int done = real(fd);
  int error = errno;
  if (done == 0) {
    if (S_ISDIR(st.st_mode)) note("syncdir\t%s\n", path);
    else note("sync\t%lu\t%lld\n", (unsigned long)st.st_ino, (long long)st.st_size);
  }
  errno = error;
  return done;
}
int fsync(int fd) { return synced(fd, REAL(fsync)); }
int fdatasync(int fd) { return synced(fd, REAL(fdatasync)); }

static int cut_to(int fd, off64_t size) {
  char path[PATH_MAX];
  int watch = path_of(fd, path);
  if (watch) step("cut", path);
  int done = (int)syscall(SYS_ftruncate, fd, size);
  int error = errno;
  struct stat st;
  if (done == 0 && watch && fstat(fd, &st) == 0) note("cut\t%lu\t%lld\n", (unsigned long)st.st_ino, (long long)size);
  errno = error;
  return done;
}
int ftruncate(int fd, off_t size) { return cut_to(fd, size); }
int ftruncate64(int fd, off64_t size) { return cut_to(fd, size); }

static int moved(int fromfd, const char *from, int tofd, const char *to, unsigned flags) {
  char a[PATH_MAX], b[PATH_MAX];
  int watch = resolve(fromfd, from, a) && resolve(tofd, to, b) && (watched(a) || watched(b));
  unsigned long inode = 0;
  long kept = 0;
  if (watch) {
    step("rename", b);
    inode = inode_of(a, NULL);
    kept = keep(b);
  }
  int done = (int)syscall(SYS_renameat2, fromfd, from, tofd, to, flags);
  int error = errno;
  if (done == 0 && watch) note("rename\t%lu\t%s\t%s\t%ld.%ld\n", inode, a, b, kept ? (long)getpid() : 0, kept);
  errno = error;
  return done;
}
int rename(const char *from, const char *to) { return moved(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int fromfd, const char *from, int tofd, const char *to) { return moved(fromfd, from, tofd, to, 0); }
int renameat2(int fromfd, const char *from, int tofd, const char *to, unsigned flags) { return moved(fromfd, from, tofd, to, flags); }

int linkat(int fromfd, const char *from, int tofd, const char *to, int flags) {
  char full[PATH_MAX];
  int watch = resolve(tofd, to, full) && watched(full);
  if (watch) step("link", full);
  int done = (int)syscall(SYS_linkat, fromfd, from, tofd, to, flags);
  int error = errno;
  if (done == 0 && watch) note("link\t%lu\t%s\n", inode_of(full, NULL), full);
  errno = error;
  return done;
}
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

static int removed(int dirfd, const char *path, int flags) {
  char full[PATH_MAX];
  int watch = resolve(dirfd, path, full) && watched(full);
  long kept = 0;
  unsigned long inode = 0;
  if (watch) {
    step("unlink", full);
    inode = inode_of(full, NULL);
    kept = keep(full);
  }
  int done = (int)syscall(SYS_unlinkat, dirfd, path, flags);
  int error = errno;
  if (done == 0 && watch) note("unlink\t%lu\t%s\t%ld.%ld\n", inode, full, kept ? (long)getpid() : 0, kept);
  errno = error;
  return done;
}
int unlink(const char *path) { return removed(AT_FDCWD, path, 0); }
int unlinkat(int dirfd, const char *path, int flags) { return removed(dirfd, path, flags); }
int rmdir(const char *path) { return removed(AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char *path) {
  struct stat st;
  int is_directory = lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
  return removed(AT_FDCWD, path, is_directory ? AT_REMOVEDIR : 0);
}

int mkdirat(int dirfd, const char *path, mode_t mode) {
  char full[PATH_MAX];
  int watch = resolve(dirfd, path, full) && watched(full) && strcmp(full, root) != 0;
  if (watch) step("mkdir", full);
  int done = (int)syscall(SYS_mkdirat, dirfd, path, mode);
  int error = errno;
  if (done == 0 && watch) note("mkdir\t%s\n", full);
  errno = error;
  return done;
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
