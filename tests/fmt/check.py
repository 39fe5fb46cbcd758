"""sonde --fmt: used by tests/quick.

Every script of tests/golden and tests/exec that parses is laid out anew. The result must have the same tree (-d ast, without places)
and the same comments, and must not change when it is laid out again. How it looks is compared for tests/fmt/NAME.bt with NAME.want.
Scripts of tools/ are laid out that way.
"""
import glob
import os
import re
import subprocess
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))


def sonde(run, options, script, cwd):
    p = subprocess.run([run.sonde] + options, input=script.encode("utf-8", "surrogateescape"), capture_output=True, env=run.env, cwd=cwd, timeout=60)
    return p.returncode, p.stdout.decode("utf-8", "surrogateescape"), p.stderr.decode("utf-8", "replace")


def tree(run, script, cwd):
    status, out, err = sonde(run, ["--check", "--unsafe", "-d", "ast", "-"], script, cwd)
    return re.sub(r" <\d+:\d+>$", "", out, flags=re.M)


def comments(script):
    found = re.findall(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', script, re.S)
    return [re.sub(r"\s+", " ", c).strip() for c in found if c[0] == "/"]


def check_one(run, script, cwd):
    """None: it does not parse. Else what is wrong, or ''."""
    status, first, err = sonde(run, ["--fmt"], script, cwd)
    if status:
        return None if not first and "ERROR" in err else "exit status %d: %s%s" % (status, err, first)
    # With sanitizers it is memory that is watched: the result is that of any other build, and its tree is golden's.
    if run.is_sanitized:
        return err
    detail = ""
    status, second, err = sonde(run, ["--fmt"], first, cwd)
    if status or second != first:
        detail += "laid out twice it differs:\n%s---\n%s%s" % (first, second, err)
    if comments(script) != comments(first):
        detail += "comments differ: %s, %s\n" % (comments(script), comments(first))
    if first != script and tree(run, script, cwd) != tree(run, first, cwd):
        detail += "the tree differs:\n%s---\n%s" % (script, first)
    if any(len(l.expandtabs(8)) > 100 and l.count('"') < 2 and "//" not in l and "/*" not in l and " " in l.strip() for l in first.splitlines()):
        detail += "a line is too long:\n%s" % first
    return detail


def check_all(name, run, scripts, cwd, result):
    """scripts: (title, text). As many results as scripts that parse."""
    passed, details = 0, []
    for title, text in scripts:
        detail = check_one(run, text, cwd)
        passed += detail == ""
        if detail:
            details.append("%s: %s" % (title, detail))
    if not passed:
        details.append("nothing was laid out\n")
    return (result(name, "not ok" if details else "ok", "".join(details)), passed, len(details), 0)


def check_layout(name, run, base, result, diff):
    with open(os.path.join(FOLDER, base + ".bt")) as f:
        status, out, err = sonde(run, ["--fmt"], f.read(), FOLDER)
    path = os.path.join(FOLDER, base + ".want")
    if run.args.update:
        with open(path, "w") as f:
            f.write(out)
    with open(path) as f:
        detail = diff(base + ".want", f.read(), out)
    if status or err:
        detail += "exit status %d\n%s" % (status, err)
    return result(name, "not ok" if detail else "ok", detail)


def check_shipped(name, run, path, result, diff):
    """A script of tools/ parses, and is laid out as --fmt does it."""
    with open(path) as f:
        text = f.read()
    status, out, err = sonde(run, ["--fmt"], text, os.path.dirname(path))
    detail = "exit status %d\n%s" % (status, err) if status or err else diff(os.path.basename(path), text, out)
    return result(name, "not ok" if detail else "ok", detail)


def check_in_place(name, run, result):
    """-o: the file is replaced, keeps its mode, and a link to it stays one; what does not parse stays as it was."""
    detail = ""
    with tempfile.TemporaryDirectory() as tmp:
        path, link = os.path.join(tmp, "a.bt"), os.path.join(tmp, "link.bt")
        for text, want in (("begin{exit()}", "begin { exit() }\n"), ("begin{", "begin{")):
            with open(path, "w") as f:
                f.write(text)
            os.chmod(path, 0o751)
            if not os.path.islink(link):
                os.symlink("a.bt", link)
            sonde(run, ["--fmt", "-o", link, link], "", tmp)
            with open(path) as f:
                got = f.read()
            if got != want or os.stat(path).st_mode & 0o777 != 0o751 or not os.path.islink(link) or sorted(os.listdir(tmp)) != ["a.bt", "link.bt"]:
                detail += "%r became %r, files: %s\n" % (text, got, os.listdir(tmp))
    return result(name, "not ok" if detail else "ok", detail)


def add(run, golden, cases, result, diff):
    texts = []
    for bt in sorted(f for f in os.listdir(golden) if f.endswith(".bt")):
        with open(os.path.join(golden, bt), encoding="utf-8", errors="surrogateescape", newline="") as f:
            texts.append((bt, f.read()))
    run.add("fmt/golden", check_all, run, texts, golden, result)
    by_file = {}
    for case in cases:
        if case.script.strip():
            by_file.setdefault(os.path.basename(case.path), []).append((case.name, case.script))
    for f in sorted(by_file):
        run.add("fmt/" + f, check_all, run, by_file[f], golden, result)
    for path in sorted(glob.glob(os.path.join(FOLDER, "../../tools/*.bt"))):
        run.add("fmt/tools/" + os.path.basename(path), check_shipped, run, path, result, diff)
    run.add("fmt/in-place", check_in_place, run, result)
    for f in sorted(os.listdir(FOLDER)):
        if f.endswith(".bt"):
            run.add("fmt/" + f, check_layout, run, f[:-3], result, diff)
