#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Files of others: what import refuses because somebody else could change it, and what --fmt -o keeps of a file.

    files.py --sonde PATH

Owners other than the user need root; without it these cases are not made.
"""
import argparse
import os
import shutil
import stat
import subprocess
import sys
import tempfile

OTHER = 12345
IS_ROOT = os.geteuid() == 0


class Check:
    def __init__(self, sonde):
        self.sonde, self.passed, self.failed = sonde, 0, 0
        self.env = {k: v for k, v in os.environ.items() if k != "SUDO_UID"}

    def verdict(self, ok, detail):
        self.passed += bool(ok)
        self.failed += not ok
        if not ok:
            print("not ok: %s" % detail)

    def run(self, argv, **env):
        return subprocess.run([self.sonde] + argv, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=60, env=dict(self.env, **env))

    def imports(self, what, change, message, **env):
        """change() gets a folder with main.bt, which imports lib and lib/sub."""
        with tempfile.TemporaryDirectory(prefix="sonde-files-") as top:
            os.makedirs(top + "/up/lib/sub")
            for name, text in (("up/main.bt", 'import "lib"; import "lib/sub"; begin { print(one() + two()); }\n'), ("up/lib/one.bt", "macro one() { 3 }\n"),
                               ("up/lib/sub/two.bt", "macro two() { 4 }\n")):
                with open(os.path.join(top, name), "w") as f:
                    f.write(text)
                os.chmod(os.path.join(top, name), 0o644)
            for name in ("up", "up/lib", "up/lib/sub"):
                os.chmod(os.path.join(top, name), 0o755)
            change(top + "/up")
            p = self.run(["--vm", "-q", top + "/up/main.bt"], **env)
            if message:
                self.verdict(p.returncode == 1 and message in p.stderr, "%s: wanted '%s'\n%s%s" % (what, message, p.stdout, p.stderr))
            else:
                self.verdict(p.returncode == 0 and p.stdout.strip() == "7", "%s\n%s%s" % (what, p.stdout, p.stderr))

    def import_cases(self):
        self.imports("as it is", lambda d: None, None)
        self.imports("folder", lambda d: os.chmod(d + "/lib", 0o777), "/up/lib can be written by every user")
        self.imports("folder above", lambda d: os.chmod(d, 0o777), "/up can be written by every user")
        self.imports("sticky folder above", lambda d: os.chmod(d, 0o1777), None)
        self.imports("sticky folder itself", lambda d: os.chmod(d + "/lib", 0o1777), "/up/lib can be written by every user")
        self.imports("file in a folder", lambda d: os.chmod(d + "/lib/sub/two.bt", 0o666), "/up/lib/sub/two.bt can be written by every user")

        def link(d):
            os.rename(d + "/lib/sub/two.bt", d + "/../two.bt")
            os.chmod(d + "/../two.bt", 0o666)
            os.symlink("../../../two.bt", d + "/lib/sub/two.bt")
        self.imports("behind a link", link, "/two.bt can be written by every user")

        def link_on_the_way(d):
            os.mkdir(d + "/open")
            os.rename(d + "/lib", d + "/real")
            os.symlink("../real", d + "/open/lib")
            os.symlink("open/lib", d + "/lib")
            os.chmod(d + "/open", 0o777)
            with open(d + "/main.bt", "w") as f:
                f.write('import "open/lib"; begin { print(one()); }\n')
        self.imports("a link on the way", link_on_the_way, "/up/open can be written by every user")

        def fifo(d):
            os.mkfifo(d + "/lib/x.bt", 0o644)
        self.imports("a FIFO", fifo, "/lib/x.bt: it is not a file")
        if not IS_ROOT:
            return
        self.imports("owner", lambda d: os.chown(d + "/lib/one.bt", OTHER, 0), "/lib/one.bt belongs to another user")
        self.imports("owner of a folder", lambda d: os.chown(d + "/lib", OTHER, 0), "/up/lib belongs to another user")
        self.imports("who called sudo", lambda d: os.chown(d + "/lib", OTHER, 0), None, SUDO_UID=str(OTHER))

        def all_of_other(d):
            for path, _, names in os.walk(d):
                for name in [path] + [os.path.join(path, n) for n in names]:
                    os.chown(name, OTHER, OTHER)
        self.imports("the script's owner", all_of_other, None)

        def group(d):
            os.chown(d + "/lib", 0, OTHER)
            os.chmod(d + "/lib", 0o775)
        self.imports("group", group, "/up/lib can be written by its group")

        def private_group(d):
            all_of_other(d)
            os.chmod(d + "/lib", 0o775)
        self.imports("private group", private_group, None)

    def formats(self, what, make, keeps):
        """make() makes the file; keeps(st, path) tells whether it is still what it was."""
        with tempfile.TemporaryDirectory(prefix="sonde-files-") as top:
            path = top + "/x.bt"
            with open(path, "w") as f:
                f.write("begin{print(7);}" + " " * 100 + "\n")
            target = make(path) or path
            before, names = os.lstat(target), sorted(os.listdir(top))
            p = self.run(["--fmt", path, "-o", target])
            after = os.lstat(target)
            if stat.S_ISREG(after.st_mode):
                with open(target) as f:
                    text = f.read()
                self.verdict(text == "begin { print(7); }\n", "%s: the text is %r\n%s" % (what, text, p.stderr))
            self.verdict(p.returncode == 0 and (after.st_mode, after.st_uid, after.st_gid, after.st_rdev) == (before.st_mode, before.st_uid, before.st_gid, before.st_rdev)
                         and keeps(before, after), "%s: %s became %s\n%s" % (what, before, after, p.stderr))
            self.verdict(sorted(os.listdir(top)) == names, "%s: %s became %s" % (what, names, os.listdir(top)))

    def fmt_cases(self):
        self.formats("mode", lambda p: os.chmod(p, 0o640), lambda a, b: True)

        def linked(p):
            os.link(p, p + ".2")
        self.formats("hard link", linked, lambda a, b: a.st_ino == b.st_ino and b.st_nlink == 2)
        with tempfile.TemporaryDirectory(prefix="sonde-files-") as top:
            with open(top + "/x.bt", "w") as f:
                f.write("begin{print(7);}\n")
            os.symlink("x.bt", top + "/link")
            self.run(["--fmt", top + "/x.bt", "-o", top + "/link"])
            with open(top + "/x.bt") as f:
                self.verdict(os.path.islink(top + "/link") and f.read() == "begin { print(7); }\n", "a link became a file")
            self.run(["--fmt", top + "/x.bt", "-o", top + "/new"])
            with open(top + "/new") as f:
                self.verdict(f.read() == "begin { print(7); }\n", "a new file")
        if not IS_ROOT:
            return
        self.formats("owner", lambda p: os.chown(p, OTHER, OTHER), lambda a, b: True)

        def device(p):
            try:
                os.mknod(p + ".null", stat.S_IFCHR | 0o600, os.makedev(1, 3))
            except OSError:
                return None
            return p + ".null"
        self.formats("device", device, lambda a, b: True)


def main():
    p = argparse.ArgumentParser(description="Files of others.")
    p.add_argument("--sonde", required=True)
    c = Check(shutil.which(p.parse_args().sonde))
    os.umask(0o022)
    c.import_cases()
    c.fmt_cases()
    print("%d passed, %d failed" % (c.passed, c.failed))
    return 1 if c.failed else 0


if __name__ == "__main__":
    sys.exit(main())
