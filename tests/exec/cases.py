# SPDX-License-Identifier: GPL-2.0-only
"""Cases of tests/exec/*.exec and tests/errors/*.case: reading and running them. Used by tests/quick and tests/exec-kernel.

A file has any number of cases. Text is taken as it stands, line by line:

    # comments, before the first case
    === NAME
    BEGIN { printf("%d\n", $1 + 1); @x = 5; }       the script, up to the next line that starts with ---
    --- params: 1 "two words"                       positional parameters, quoted as in a shell
    --- options: -f json                            options of the command line, quoted likewise
    --- env: BPFTRACE_MAX_STRLEN=8                  variables of the environment
    --- exit: 3                                     exit status, 0 unless said
    --- only: vm                                    not in the kernel: why, in a comment
    --- file: NAME                                  the script is in this file instead of behind -e; messages name it
    --- command: -p 0 -e 'BEGIN { }'                the whole command line, instead of a script and options
    --- user: nobody                                without privileges, also when the tests run as root
    --- note: TEXT                                  why the case is what it is
    --- todo: REASON                                known to fail: counts as skipped; a success is a failure
    --- stdin                                       what standard input has
    --- out                                         standard output until the end of the last probe
    --- maps                                        what follows at the end: the two newlines, then the maps
    --- stdout                                      all of standard output, instead of the two above
    --- err                                         standard error; nothing unless given

An empty line before === is for the reader and belongs to no section.
Expected output is written by hand from the language reference, never copied from what the program printed.
"""
import fnmatch
import os
import shlex
import subprocess
import tempfile

TEXTS = ("stdin", "out", "maps", "stdout", "err")
WORDS = ("params", "options", "env", "exit", "only", "file", "command", "user", "note", "todo")


class Case:
    def __init__(self, path, name):
        self.path, self.name = path, name
        self.script = ""
        self.text = {}
        self.word = {}

    @property
    def title(self):
        return "%s:%s" % (os.path.splitext(os.path.basename(self.path))[0], self.name)

    def end(self, section):
        """The case is complete: its last section loses the empty line that separates it from the next case."""
        if section in self.text and (self.text[section].endswith("\n\n") or self.text[section] == "\n"):
            self.text[section] = self.text[section][:-1]

    def stdout(self):
        if "stdout" in self.text:
            return self.text["stdout"]
        return self.text.get("out", "") + "\n\n" + self.text.get("maps", "")

    def stderr(self):
        return self.text.get("err", "")

    def status(self):
        return int(self.word.get("exit", "0"))


def read_cases(path):
    cases, case, section, seen = [], None, None, set()
    with open(path, encoding="utf-8", newline="\n") as f:
        for number, line in enumerate(f, 1):
            where = "%s:%d" % (path, number)
            if line.startswith("=== "):
                if case:
                    case.end(section)
                case, section = Case(path, line[4:].strip()), "script"
                if case.name in seen:
                    raise SystemExit("%s: there is already a case %s" % (where, case.name))
                seen.add(case.name)
                cases.append(case)
            elif line.startswith("--- ") and case:
                word, colon, rest = line[4:].strip().partition(":")
                if colon and word in WORDS:
                    case.word[word] = rest.strip()
                    section = None
                elif not colon and word in TEXTS:
                    case.text[word] = ""
                    section = word
                else:
                    raise SystemExit("%s: what is '%s'?" % (where, line.strip()))
            elif section == "script":
                case.script += line
            elif section:
                case.text[section] += line
            elif line.strip() and not line.startswith("#"):
                raise SystemExit("%s: not part of a section" % where)
    return cases


class Result:
    def __init__(self, name, state, detail=""):
        self.name, self.state, self.detail = name, state, detail  # state: ok, not ok, skip


def diff(name, want, got):
    import difflib

    lines = difflib.unified_diff(want.splitlines(True), got.splitlines(True), "wanted " + name, "got " + name)
    return "".join(l if l.endswith("\n") else l + "\n\\ no newline at the end\n" for l in lines)


def as_nobody(argv):
    """The command without privileges; None where that cannot be had."""
    if os.geteuid() != 0:
        return argv
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"] + argv


def compare(name, case, status, out, err):
    detail = ""
    if out != case.stdout():
        detail += diff("stdout", case.stdout(), out)
    if err != case.stderr():
        detail += diff("stderr", case.stderr(), err)
    if status != case.status():
        detail += "exit status %d, wanted %d\n" % (status, case.status())
    if "todo" in case.word:
        if detail:
            return Result(name, "skip", case.word["todo"])
        return Result(name, "not ok", "passes now: remove its todo (%s)\n" % case.word["todo"])
    return Result(name, "not ok" if detail else "ok", detail)


def run_case(case, prefix, sonde, mode, env, timeout=60):
    """mode: the options that choose how the script runs, such as --vm."""
    name = prefix + case.title
    env = dict(env)
    for item in shlex.split(case.word.get("env", "")):
        key, _, value = item.partition("=")
        env[key] = value
    script = case.script.rstrip("\n")  # the last line of a script needs no newline, and -e rarely has one
    with tempfile.TemporaryDirectory() as tmp:
        if os.geteuid() == 0:
            os.chmod(tmp, 0o755)
        if "command" in case.word:
            argv = [sonde] + shlex.split(case.word["command"])
        else:
            argv = [sonde] + mode + shlex.split(case.word.get("options", ""))
            if "file" in case.word:
                with open(os.path.join(tmp, case.word["file"]), "w") as f:
                    f.write(case.script)
                argv += [case.word["file"]]
            else:
                argv += ["-e", script]
            params = shlex.split(case.word.get("params", ""))
            if params:
                argv += ["--"] + params
        if "user" in case.word:
            argv = as_nobody(argv)
        try:
            p = subprocess.run(argv, input=case.text.get("stdin", ""), capture_output=True, env=env, cwd=tmp, timeout=timeout,
                               encoding="utf-8", errors="backslashreplace")
        except subprocess.TimeoutExpired:
            return Result(name, "not ok", "no end after %d seconds\n" % timeout)
        except FileNotFoundError:
            return Result(name, "skip", argv[0] + " is not there")
    return compare(name, case, p.returncode, p.stdout, p.stderr)


def via_image(sonde, folder):
    """Builds the program that runs scripts by way of a compiled image (tests/kernel/via-image.c) in a folder that everybody may read.
    Returns its path and what its environment needs."""
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    front, images = os.path.join(folder, "via-image", "sonde"), os.path.join(folder, "images")
    for made in (os.path.dirname(front), images):
        os.makedirs(made)
    os.chmod(images, 0o1777)  # cases run without privileges, too
    subprocess.run(["cc", "-std=gnu17", "-O2", "-I" + os.path.join(os.path.dirname(tests), "src"), "-o", front,
                    os.path.join(tests, "kernel", "via-image.c")], check=True)
    return front, {"VIA_IMAGE_SONDE": os.path.abspath(sonde), "VIA_IMAGE_DIR": images}


def find_cases(directory, ext, pattern):
    """(path order, file order); pattern is a glob over "file:case" titles, or None."""
    found = []
    for file in sorted(os.listdir(directory)):
        if file.endswith(ext):
            for case in read_cases(os.path.join(directory, file)):
                if not pattern or fnmatch.fnmatch(case.title, pattern):
                    found.append(case)
    return found


def base_env(extra):
    """What programs of the tests see of the environment: nothing that could change their messages or settings."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("SONDE_", "BPFTRACE_")) and k not in ("LANG", "LC_ALL", "TZ", "COLUMNS")}
    # Of the paths only those that everybody may read: cases run without privileges, too.
    env.update({"LC_ALL": "C", "TZ": "UTC", "SONDE_COLOR": "never", "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"})
    env.update(extra)
    return env
