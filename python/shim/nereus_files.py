"""Files of a data set in the page cache and out of it, without being root, and what came from storage.

Which files: those that this process, or a worker of its loaders, opened to read since watch() (Python's audit events), and those it
holds open or mapped (/proc/self). Pages leave the cache by posix_fadvise, which leaves mapped ones: mappings give theirs up first
(madvise). What is opened by other languages' code and closed again at once is not seen.
"""
import ctypes
import glob
import os
import stat
import sys

_MADV_DONTNEED = 4
_SYSTEM = ("/proc/", "/sys/", "/dev/", "/etc/", "/usr/lib", "/lib", "/run/")
_CODE = (".py", ".pyc", ".so", ".pth", ".egg-info")


class Files:
    def __init__(self, folder):
        self.folder = folder
        self.watching = False
        self._seen = set()
        self._prefixes = _SYSTEM + (os.path.join(sys.prefix, "lib"), os.path.join(sys.base_prefix, "lib"), folder)

    def watch(self):
        """From now on; workers that are forked later watch too."""
        if not self.watching:
            self.watching = True
            sys.addaudithook(self._heard)

    def known(self):
        """Of all processes of this host's ranks."""
        paths = set(self._held()) | set(self._mapped())
        for name in glob.glob(os.path.join(self.folder, "opened-*")):
            with open(name, errors="surrogateescape") as lines:
                paths.update(line.rstrip("\n") for line in lines)
        return sorted(p for p in paths if self._is_data(p))

    def unmap(self):
        libc = ctypes.CDLL(None, use_errno=True)
        for first, size in (place for places in self._mapped().values() for place in places):
            libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(size), _MADV_DONTNEED)

    def evict(self):
        for path in self.known():
            try:
                file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                continue
            try:
                os.fdatasync(file)  # dirty pages would stay
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            except OSError:
                pass
            finally:
                os.close(file)

    def _heard(self, event, arguments):
        if event != "open":
            return
        path, _, flags = arguments
        try:
            if isinstance(path, int) or path is None or (flags or 0) & os.O_ACCMODE != os.O_RDONLY:
                return
            path = os.path.abspath(os.fsdecode(path))
            if path in self._seen or not self._is_name_of_data(path):
                return
            self._seen.add(path)
            file = os.open(os.path.join(self.folder, f"opened-{os.getpid()}"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.write(file, os.fsencode(path) + b"\n")
            os.close(file)
        except Exception:  # an audit hook that raises would stop the script from opening its file
            pass

    def _is_name_of_data(self, path):
        return not path.startswith(self._prefixes) and not path.endswith(_CODE) and "site-packages" not in path

    def _is_data(self, path):
        try:
            return self._is_name_of_data(path) and stat.S_ISREG(os.stat(path).st_mode)
        except OSError:
            return False

    def _held(self):
        for name in os.listdir("/proc/self/fd"):
            try:
                path = os.readlink(f"/proc/self/fd/{name}")
                with open(f"/proc/self/fdinfo/{name}") as lines:
                    flags = next(int(line.split()[1], 8) for line in lines if line.startswith("flags:"))
            except (OSError, StopIteration):
                continue
            if flags & os.O_ACCMODE == os.O_RDONLY:
                yield path

    def _mapped(self):
        """Shared mappings by file: (address, bytes). Private ones may hold what nobody else has: a library's relocated addresses."""
        places = {}
        with open("/proc/self/maps") as lines:
            for line in lines:
                parts = line.rstrip("\n").split(None, 5)
                if len(parts) == 6 and parts[1] in ("r--s", "rw-s") and self._is_data(parts[5]):
                    first, last = (int(x, 16) for x in parts[0].split("-"))
                    places.setdefault(parts[5], []).append((first, last - first))
        return places


def bytes_from_storage(pids):
    """As the kernel counts them for these processes; one that is gone counts nothing."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/io") as lines:
                total += next(int(line.split()[1]) for line in lines if line.startswith("read_bytes:"))
        except (OSError, StopIteration):
            pass
    return total
