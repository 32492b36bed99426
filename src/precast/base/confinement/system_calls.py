"""The numbers of system calls on x86_64 and aarch64, by purpose. A call that an architecture does not have is -1 there.

Numbers from 424 on are the same on both. `NEWEST` is the last one that was reviewed for these tables.
"""

import errno
from typing import NamedTuple

NEWEST = 452


class Architecture(NamedTuple):
    """What a filter checks of a machine: the kernel's word for it, and its column in the tables."""

    audit: int
    column: int


ARCHITECTURES = {"x86_64": Architecture(0xC000003E, 0), "aarch64": Architecture(0xC00000B7, 1)}

Table = dict[str, tuple[int, int]]

# What every process needs to compute, and to use the descriptors that it already has.
COMPUTING: Table = {
    "read": (0, 63), "write": (1, 64), "readv": (19, 65), "writev": (20, 66), "close": (3, 57), "close_range": (436, 436),
    "fstat": (5, 80), "lseek": (8, 62), "munmap": (11, 215), "mremap": (25, 216), "brk": (12, 214), "madvise": (28, 233),
    "futex": (202, 98), "sched_yield": (24, 124), "getpid": (39, 172), "gettid": (186, 178), "getppid": (110, 173),
    "getuid": (102, 174), "geteuid": (107, 175), "getgid": (104, 176), "getegid": (108, 177), "getgroups": (115, 158),
    "getresuid": (118, 148), "getresgid": (120, 150),
    "clock_gettime": (228, 113), "clock_getres": (229, 114), "clock_nanosleep": (230, 115), "nanosleep": (35, 101),
    "gettimeofday": (96, 169), "time": (201, -1), "getrandom": (318, 278), "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "sigaltstack": (131, 132), "exit": (60, 93),
    "exit_group": (231, 94), "restart_syscall": (219, 128), "poll": (7, -1), "ppoll": (271, 73), "select": (23, -1),
    "pselect6": (270, 72), "epoll_create": (213, -1), "epoll_create1": (291, 20), "epoll_ctl": (233, 21),
    "epoll_wait": (232, -1), "epoll_pwait": (281, 22), "epoll_pwait2": (441, 441), "eventfd2": (290, 19), "pipe": (22, -1),
    "pipe2": (293, 59), "dup": (32, 23), "dup2": (33, -1), "dup3": (292, 24), "fcntl": (72, 25), "getrusage": (98, 165),
    "sysinfo": (99, 179), "uname": (63, 160), "getcwd": (79, 17), "times": (100, 153), "getrlimit": (97, 163),
    "sched_getaffinity": (204, 123), "rseq": (334, 293), "set_robust_list": (273, 99), "membarrier": (324, 283),
    "arch_prctl": (158, -1), "set_tid_address": (218, 96), "umask": (95, 166), "sendto": (44, 206), "recvfrom": (45, 207),
    "sendmsg": (46, 211), "recvmsg": (47, 212), "shutdown": (48, 210), "getsockopt": (55, 209),
    "getsockname": (51, 204), "getpeername": (52, 205), "setitimer": (38, 103), "alarm": (37, -1),
}  # fmt: skip

READING: Table = {
    "open": (2, -1), "openat": (257, 56), "openat2": (437, 437), "stat": (4, -1), "lstat": (6, -1), "newfstatat": (262, 79),
    "statx": (332, 291), "access": (21, -1), "faccessat": (269, 48), "faccessat2": (439, 439), "getdents": (78, -1),
    "getdents64": (217, 61), "readlink": (89, -1), "readlinkat": (267, 78), "pread64": (17, 67), "preadv": (295, 69),
    "statfs": (137, 43), "fstatfs": (138, 44), "fadvise64": (221, 223), "flock": (73, 32), "chdir": (80, 49),
    "fchdir": (81, 50),
}  # fmt: skip

WRITING: Table = {
    "creat": (85, -1), "mkdir": (83, -1), "mkdirat": (258, 34), "unlink": (87, -1), "unlinkat": (263, 35), "rmdir": (84, -1),
    "rename": (82, -1), "renameat": (264, 38), "renameat2": (316, 276), "link": (86, -1), "linkat": (265, 37),
    "symlink": (88, -1), "symlinkat": (266, 36), "ftruncate": (77, 46), "fallocate": (285, 47), "fsync": (74, 82),
    "fdatasync": (75, 83), "pwrite64": (18, 68), "pwritev": (296, 70), "fchmod": (91, 52),
    "copy_file_range": (326, 285), "sendfile": (40, 71),
}  # fmt: skip
# By path, these also reach files outside the allowed directories: Landlock does not govern the first, and truncation only from ABI 3 on.
CHANGING_ATTRIBUTES: Table = {
    "chmod": (90, -1), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, -1),
    "fchown": (93, 55), "lchown": (94, -1), "fchownat": (260, 54), "setxattr": (188, 5), "lsetxattr": (189, 6),
    "fsetxattr": (190, 7), "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "utimensat": (280, 88), "utime": (132, -1), "utimes": (235, -1), "futimesat": (261, -1),
}  # fmt: skip
TRUNCATING: Table = {"truncate": (76, 45)}

CONNECTING: Table = {
    "connect": (42, 203), "bind": (49, 200), "setsockopt": (54, 208), "sendmmsg": (307, 269), "recvmmsg": (299, 243),
    "socketpair": (53, 199),
}  # fmt: skip

# For a process that was started with a listening socket.
ACCEPTING: Table = {"accept": (43, 202), "accept4": (288, 242)}

# What a program that was written by others never needs: the kernel itself, other processes, and interfaces with a long record of faults.
DANGEROUS: Table = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "process_madvise": (440, 440),
    "process_mrelease": (448, 448), "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424),
    "kcmp": (312, 272), "move_pages": (279, 239), "migrate_pages": (256, 238), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "tkill": (200, 130), "sched_setattr": (314, 274), "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119), "sched_setaffinity": (203, 122), "ioprio_set": (251, 30),
    "setpriority": (141, 140), "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39),
    "pivot_root": (155, 41), "chroot": (161, 51), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432),
    "fspick": (433, 433), "open_tree": (428, 428), "move_mount": (429, 429), "mount_setattr": (442, 442),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "add_key": (248, 217), "request_key": (249, 218),
    "keyctl": (250, 219), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262), "fanotify_mark": (301, 263), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142),
    "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "syslog": (103, 116), "vhangup": (153, 58), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "adjtimex": (159, 171), "clock_adjtime": (305, 266), "sethostname": (170, 161), "setdomainname": (171, 162),
    "ioperm": (173, -1), "iopl": (172, -1), "modify_ldt": (154, -1), "personality": (135, 92), "uselib": (134, -1),
    "lookup_dcookie": (212, 18), "nfsservctl": (180, 42), "mbind": (237, 235), "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450), "listen": (50, 201), "accept": (43, 202), "accept4": (288, 242),
    "mq_open": (240, 180), "msgget": (68, 186), "semget": (64, 190), "shmget": (29, 194), "mknod": (133, -1),
    "mknodat": (259, 33),
}  # fmt: skip

# Calls that are judged by their arguments.
BY_ARGUMENT: Table = {
    "mmap": (9, 222), "mprotect": (10, 226), "ioctl": (16, 29), "prctl": (157, 167), "prlimit64": (302, 261),
    "kill": (62, 129), "tgkill": (234, 131), "clone": (56, 220), "clone3": (435, 435), "socket": (41, 198),
}  # fmt: skip

REFUSED = errno.EPERM
# glibc uses the older call instead, whose flags a filter can see.
ABSENT = errno.ENOSYS
NO_TERMINAL = errno.ENOTTY
