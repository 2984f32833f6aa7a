package evaluate

import (
	"slices"
	"strings"
	"testing"

	"batch.example/batch/dataset/datasettest"
	"batch.example/batch/grade"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/vocab"
)

func newFile(name string) string {
	return "diff --git a/" + name + " b/" + name + "\nnew file mode 100644\n--- /dev/null\n+++ b/" + name + "\n@@ -0,0 +1 @@\n+x\n"
}

func edit(name string) string {
	return "diff --git a/" + name + " b/" + name + "\n--- a/" + name + "\n+++ b/" + name + "\n@@ -1 +1 @@\n-x\n+y\n"
}

func TestFilesThatDecide(t *testing.T) {
	const script = "pytest elsewhere\n: '>>>>> Start Test Output'\nPYTHONPATH=lib ./bin/test -C sympy/core/tests/test_x.py && python tools/check.py\n: '>>>>> End Test Output'\ngit checkout after.py"
	named := []string{"sympy/core/tests/test_x.py"}
	for _, tt := range []struct {
		patch string
		want  Tier
	}{
		{newFile("conftest.py"), TierRunner},
		{edit("src/pkg/conftest.py"), TierRunner},
		{"diff --git a/conftest.py b/conftest.py\ndeleted file mode 100644\n", TierRunner},
		{"diff --git a/x b/conftest.py\nsimilarity index 100%\nrename from x\nrename to conftest.py\n", TierRunner},
		{"diff --git a/conftest.py b/x\nsimilarity index 100%\nrename from conftest.py\nrename to x\n", TierRunner},
		{newFile("pytest.ini"), TierRunner},
		{edit("tox.ini"), TierRunner},
		{newFile("sitecustomize.py"), TierRunner},
		{newFile("src/usercustomize.py"), TierRunner},
		{newFile("x.pth"), TierRunner},
		{newFile("pytest.py"), TierRunner},
		{newFile("_pytest/runner.py"), TierRunner},
		{newFile("unittest/__init__.py"), TierRunner},
		{newFile("tests/json.py"), TierRunner},
		{"diff --git a/x.py b/json.py\nsimilarity index 100%\nrename from x.py\nrename to json.py\n", TierRunner},
		{"diff --git a/x.py b/json.py\nsimilarity index 100%\ncopy from x.py\ncopy to json.py\n", TierRunner},
		{"--- a/json.py\n+++ b/json.py\n@@ -0,0 +1 @@\n+x\n", TierRunner},
		{edit("json.py"), 0},
		{newFile("src/pkg/json.py"), 0},
		{edit("src/_pytest/runner.py"), 0},
		{edit("bin/test"), TierRunner},
		{edit("tools/check.py"), TierRunner},
		{edit("after.py"), 0},
		{edit("tests/helpers.py"), TierRunner},
		{newFile("pkg/tests/__init__.py"), TierRunner},
		{newFile("tests/test_mine.py"), 0},
		{newFile("src/a.test.js"), 0},
		{newFile("jest.config.js"), TierRunner},
		{edit("karma.conf.js"), TierRunner},
		{edit("pkg/x_test.go"), TierRunner},
		{edit("phpunit.xml.dist"), TierRunner},
		{edit("spec/spec_helper.rb"), TierRunner},
		{newFile("node_modules/mocha/index.js"), TierRunner},
		{edit("setup.cfg"), TierProject},
		{edit("pyproject.toml"), TierProject},
		{edit("package.json"), TierProject},
		{edit("sub/pom.xml"), TierProject},
		{edit("app/build.gradle.kts"), TierProject},
		{edit("Cargo.toml"), TierProject},
		{edit("Makefile"), TierProject},
		{newFile(".gitattributes"), TierProject},
		{newFile(".bashrc"), TierProject},
		{edit("django/test/runner.py"), TierProject},
		{edit("django/test/client.py"), TierProject},
		{edit("lib/matplotlib/testing/decorators.py"), TierProject},
		{edit("tests/helpers.py"), TierRunner},
		{edit("src/main/java/org/x/test/Spec.java"), 0},
		{newFile("pkg/fast.cpython-311-x86_64-linux-gnu.so"), TierRunner},
		{newFile("tests/__pycache__/test_x.cpython-311.pyc"), TierRunner},
		{edit("shop.egg-info/entry_points.txt"), TierRunner},
		{newFile("lib/evil-1.0.dist-info/METADATA"), TierRunner},
		{newFile("src/main/java/org/junit/Test.java"), TierRunner},
		{edit("xarray/testing.py"), TierProject},
		{edit("versioneer.py"), TierProject},
		{edit("src/pkg/core.py"), 0},
		{edit("docs/conf.py"), 0},
		{edit("tests/README.md"), 0},
	} {
		name := strings.SplitN(tt.patch, "\n", 2)[0]
		list := Deciders(Job{Script: script, TestFiles: named}, Named([]byte(tt.patch)))
		if tt.want == 0 && len(list) > 0 || tt.want > 0 && (len(list) != 1 || list[0].Tier != tt.want || list[0].Why == "") {
			t.Errorf("%s: got %+v, want tier %d", name, list, tt.want)
		}
		if list := Deciders(Job{Script: script, TestFiles: named, Gold: []byte(tt.patch)}, Named([]byte(tt.patch))); len(list) > 0 {
			t.Errorf("%s of the gold patch too: got %+v", name, list)
		}
		if list := Deciders(Job{Script: script, TestFiles: append(Paths([]byte(tt.patch)), named...)}, Named([]byte(tt.patch))); len(list) > 0 {
			t.Errorf("%s that is put back: got %+v", name, list)
		}
	}
}

func TestWhatControlRunsMean(t *testing.T) {
	runner, project := Decider{Path: "conftest.py", Tier: TierRunner}, Decider{Path: "setup.cfg", Tier: TierProject}
	both := []Decider{runner, project}
	for name, tt := range map[string]struct {
		deciders   []Decider
		runs       string // y resolved, n not, f other tests than FAIL_TO_PASS fail, t timed out
		next       string // the next run, or how it ended
		suspicious string
	}{
		"no decider":                      {nil, "y", "resolved", ""},
		"not resolved":                    {both, "n", "unresolved", ""},
		"a first control run":             {both, "y", "without conftest.py setup.cfg", ""},
		"resolved without both":           {both, "yy", "resolved", ""},
		"other tests fail without both":   {both, "yf", "resolved", ""},
		"no end without both":             {both, "yt", "resolved", ""},
		"a second control run":            {both, "yn", "without conftest.py", ""},
		"the project's, repeated":         {both, "yny", "again without conftest.py setup.cfg", ""},
		"the project's, by chance":        {both, "ynyy", "resolved", ""},
		"the project's, repeated with":    {both, "ynyn", "again", ""},
		"the project's, not with":         {both, "ynynn", "resolved", ""},
		"only with the project's":         {both, "ynyny", "resolved", "resolved only with setup.cfg of the patch"},
		"the runner's, repeated":          {both, "ynn", "again without conftest.py", ""},
		"only with the runner's":          {both, "ynnnf", "unresolved", "resolved only with conftest.py of the patch"},
		"the runner's alone":              {[]Decider{runner}, "y", "without conftest.py", ""},
		"the runner's alone, by chance":   {[]Decider{runner}, "ynf", "resolved", ""},
		"the runner's alone, no end":      {[]Decider{runner}, "ynt", "resolved", ""},
		"the runner's alone, not with":    {[]Decider{runner}, "ynnn", "resolved", ""},
		"the runner's alone, needed":      {[]Decider{runner}, "ynny", "unresolved", "resolved only with conftest.py of the patch"},
		"the runner's alone, not needed":  {[]Decider{runner}, "yy", "resolved", ""},
		"the project's alone, needed":     {[]Decider{project}, "ynny", "resolved", "resolved only with setup.cfg of the patch"},
		"the project's alone, not needed": {[]Decider{project}, "yf", "resolved", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var judged []grade.Judgement
			for _, r := range tt.runs {
				j := grade.Judgement{Resolved: r == 'y', Suspicious: []string{"of the log"}}
				j.Tests.FailToPass.Failure = []string{"a"}
				if r == 'f' || r == 'y' {
					j.Tests.FailToPass = swebench.Split{Success: []string{"a"}}
				}
				if r == 't' {
					j.Verdict = vocab.VerdictTimedOut
				}
				judged = append(judged, j)
			}
			s := Decide(tt.deciders, judged...)
			got := "unresolved"
			switch {
			case s.Run:
				got = strings.TrimSpace(strings.Repeat("again ", map[bool]int{true: 1}[s.Again]) + strings.Repeat("without ", min(len(s.Without), 1)) + strings.Join(s.Without, " "))
			case s.Resolved:
				got = "resolved"
			}
			if got != tt.next {
				t.Fatalf("got %q, want %q", got, tt.next)
			}
			if s.Run {
				return
			}
			want := []string{"of the log"}
			if tt.suspicious != "" {
				want = append(want, tt.suspicious)
			}
			if !slices.Equal(s.Suspicious, want) || (s.Why != "") != (!s.Resolved && tt.suspicious != "") || (s.Note != "") != strings.HasSuffix(tt.runs, "t") {
				t.Errorf("got %+v, want suspicious %q", s, want)
			}
		})
	}
}

func TestTextsThatAreReported(t *testing.T) {
	add := func(line string) string {
		return "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-x\n+" + line + "\n"
	}
	for _, line := range []string{
		"print('>>>>> End Test Output')", "os._exit(0)", "++ os._exit(0)", "open('/proc/%d/cmdline' % pid)", "echo $SWEBENCH_TEST_EXIT_CODE",
		`getattr(os, "wri" "te")(1, b"x")`, `__import__("os")`, `import_module('posix')`, `ctypes.CDLL(None)`, `exec(base64.b64decode("eA=="))`, `exec(__import__("base64").b64decode("eA=="))`,
		`eval(atob("eA=="))`, `echo eA== | base64 -d | sh`, `eval "$(echo eA== | base64 -d)"`,
	} {
		if got := tells([]byte(add(line)), nil, false); len(got) != 1 || !strings.Contains(got[0], "x.py") {
			t.Errorf("%s: got %q", line, got)
		}
		if got := tells([]byte(add(line)), []byte(add(line)), false); len(got) > 0 {
			t.Errorf("%s of the gold patch too: got %q", line, got)
		}
	}
	for _, line := range []string{
		"print('done')", "sys.exit(main())", `getattr(os, "O_BINARY", 0)`, "getattr(sys, 'frozen', False)", "text = base64.b64decode(value)", "m = importlib.import_module(name)", "exec(code, ns)",
	} {
		if got := tells([]byte(add(line)), nil, false); len(got) > 0 {
			t.Errorf("%s: got %q", line, got)
		}
	}
}

// What code needs to forge a result from within the process of the tests.
func TestWaysFromTheCodeToTheTestsAreReported(t *testing.T) {
	change := func(name, text string) []byte {
		return []byte("diff --git a/" + name + " b/" + name + "\n--- a/" + name + "\n+++ b/" + name + "\n@@ -1 +1,9 @@\n-x\n+" + strings.ReplaceAll(text, "\n", "\n+") + "\n")
	}
	for name, texts := range map[string][]string{
		"x.py": {
			"import pytest", "pytest.xfail('later')", "import _pytest.python as p", "def pytest_pyfunc_call(pyfuncitem):", "def pytest_anything(x):", "os.environ['PYTEST_CURRENT_TEST']",
			"unittest.TestCase.assertEqual = f", "raise SkipTest", "from unittest.mock import ANY", "r.TestResult", "np.testing.assert_allclose = f", "from numpy.testing import x",
			"from tests.helpers import show", "setattr(m, 'assertEqual', f)", "sys._getframe(1)", "inspect.stack()", "frame.f_globals['x'] = y", "f.__code__ = g.__code__", "gc.get_objects()",
			"sys.modules['x']", "sys.settrace(f)", "sys.meta_path.insert(0, f)", "builtins.AssertionError = E", "object.__subclasses__()",
			"sys.stdout = W()", "sys.stdout.write = f", "with redirect_stdout(f):", "setattr(sys, 'stdout', f)", "os.execv(sys.executable, args)", "os.fork()", "sys.exit(0)", "sys.exit(x)", "raise SystemExit", "exit()",
			"weakref.finalize(x, f)", "import builtins", "from x import runtests", "open('tests/x.py', 'w')", "e.__traceback__.tb_frame", "types.CodeType(x)", "hookimpl(f)", "sys.__stdout__.write(x)", "os.write(1, b)", "os.dup2(a, 1)", "open('/dev/stdout', 'w')", "open('/dev/fd/1')", "atexit.register(f)",
			"exec(open('x').read())", "exec('import ' + name)", "import_module('p' + 'dt')", "import_module('p' 'dt')", "import_module(''.join(x))", "__import__('tsetyp'[::-1])",
			"def __eq__(self, other):\n    return True", "def __eq__(self, other): return 1",
			"def __eq__(self, o):\n    if o is None:\n        return True\n    return True", "def __eq__(self, o):\n    return self.x == o.x or True", "def __ne__(self, o):\n    # not o\n    return False\n\ny = 1", "def __eq__(*args):\n    return not None",
			"py.test.xfail('later')", "__import__('py').test.xfail()", "from mock import ANY", "from numpy import testing", "m = '_py' 'test.runner'", `m = "_py" + "test"`, "T = type('T', (str,), {'__e' 'q__': yes})",
			"from sys import modules", "from sys import (argv,\n    modules as m)", "import sys as s\ns.modules['x']", "from gc import get_objects", "import os.path, gc as g\ng.get_objects()", "from inspect import stack",
			"from os import dup2", "from os import write as w", "from os import _exit", "import sys as s\ns.stdout = W()", "import os as o; o.fork()",
			"def __eq__(self, o):\n    return o == o", "def __eq__(self, o):\n    return isinstance(o, object)", "def __rsub__(self, o):\n    return 0", "class P(str):\n    def __eq__(self, o):\n        return o[:1] == self[:1]", "np.allclose = yes", "math.isclose = f", "setattr(np, 'allclose', f)", "re.search = f", "warnings.warn = f",
			"setattr(T, '__%s__' % 'eq', f)", "d[f'__{n}__'] = f", "d['__' + n + '__'] = f", "from hypothesis import assume", "Path(__file__).parents[1] / 'tests'", "os.path.join(root, 'tests')", "root.glob('**/test_*.py')",
			"name = codecs.decode('clgrfg', 'rot13')\nm = import_module(name)", "text = base64.b64decode('aQ==')\nexec(text)", "name = bytes([112]).decode()\nm = __import__(name)", "exec(path.read_text())", "runpy.run_path('x.dat')", "spec_from_file_location('x', p)", "pickle.loads(b'x')",
			"vars(sys)['modules']", "sys.__dict__['modules']", "getattr(sys, 'modules')", "ctypes.memmove(a, b, 8)", "from os import *", "import bdb", "sys.monitoring.use_tool_id(1, 'x')", "SourceFileLoader.get_data = f", "f.__self__.x = y", "signal.raise_signal(9)",
			"os.close(1)", "os.ftruncate(1, 0)", "open(1, 'w')", "os.fdopen(2, 'w')", "io.FileIO(1, 'w')", "sys.stdout.close()", "for sys.stdout in [W()]:",
			"from x import yes as __eq__", "if (__eq__ := yes):", "for __eq__ in [yes]:", "(__eq__) = yes",
			"def __contains__(self, x: str) -> bool:\n    return True", "T = type('T', (str,), {'__eq__': yes})", "__eq__ = lambda self, other: True", "setattr(T, '__eq__', yes)",
		},
		"x.js":   {"require('mocha')", "globalThis.expect = f", "global.it = f", "assert.equal = () => {}", "console.log = f", "process.stdout.write = f", "require.cache[x] = y", "asymmetricMatch() { return true }", "process.on('exit', f)", "require('node:assert/strict').equal = f", "import t from 'node:test'"},
		"x.rb":   {"RSpec.configure", "class Minitest::Test", "at_exit { puts 1 }", "$stdout = f", "def ==(other)\n  true"},
		"x.php":  {"PHPUnit\\Framework\\Assert", "register_shutdown_function('f')"},
		"X.java": {"import org.junit.Test;", "System.setOut(x);", "public boolean equals(Object o) {\n  return true;\n}", "Runtime.getRuntime().addShutdownHook(t);"},
		"x.rs":   {"fn eq(&self, _: &Self) -> bool {\n    true\n}", "macro_rules! assert_eq {"},
		"x.cpp":  {"bool operator==(const X &) const { return true; }", "#define ASSERT_EQ(a, b)", "#include <gtest/gtest.h>"},
		"x.go":   {`import "testing"`, "os.Stdout = f"},
	} {
		for _, text := range texts {
			if got := tells(change(name, text), nil, false); len(got) != 1 || !strings.Contains(got[0], name) {
				t.Errorf("%s: %s: got %q", name, text, got)
			}
			if got := tells(change(name, text), change(name, text), false); len(got) > 0 {
				t.Errorf("%s: %s of the gold patch too: got %q", name, text, got)
			}
		}
	}
	for name, texts := range map[string][]string{
		"x.py": {
			"def __eq__(self, other):\n    return isinstance(other, X)", "def __eq__(self, other):\n    return NotImplemented if other is None else self.x == other.x", "def __bool__(self):\n    return True",
			"def __eq__(self, o):\n    if isinstance(o, X):\n        return True\n    return False", "def __eq__(self, o):\n    return True if o is self else self.x == o.x",
			"print('ok')", "sys.stdout.write(x)", "sys.exit(2)", "sys.exit(main())", "latest/x", "sys.stdout.encoding == x", "parser.exit(0, x)", "re.compile(r'x')", "regex.test(x)", "p.exec(x)", "x = latest", "tester = 1", "self.assertive = 1", "exec(code, ns)", "import_module(name)",
			"def __sub__(self, o):\n    return self.x - o.x", "class P(str):\n    x = 1\n\nclass Q:\n    def __eq__(self, o):\n        return self.x == o.x", "def __eq__(self, o):\n    return self is o", "def __eq__(self, o):\n    return isinstance(o, Object)", "math.isclose(a, b)", "np.x == y", "os.path.join(root, 'latest')", "os.close(fd)", "open(name, 'w')", "sys.stdout.flush()", "sys.stdout.buffer.write(b)",
			"c = chr(x)\ntext = re.sub(p, c, text)", "text = base64.b64decode(value)\nself.exec(text)", "pickle.loads(text)", "ctypes.util.find_library(x)", "getattr(sys, 'frozen', False)",
			"from sys import argv, exit", "from os import path as p", "import os.path as p\np.join('a', 'b')", "import sys as s\ns.argv", "from builtins import str", "for x in a.__eq__(b):", "f('a', 'b' 'c')",
		},
		"x.js":            {"/a/.test(x)", "re.exec('x')", "console.log(1)", "const contest = 1"},
		"x.rs":            {"fn eq(&self, other: &Self) -> bool {\n    self.x == other.x\n}", "#[cfg(test)]"},
		"README.md":       {"run pytest"},
		"CHANGES.rst":     {"unittest.TestCase works"},
		"tests/test_x.py": {"import pytest", "class T(unittest.TestCase):", "def __eq__(self, other):\n    return True"},
		"conftest.py":     {"import pytest"},
		"src/x.test.js":   {"import { it } from 'vitest'"},
		"_pytest/x.py":    {"import pytest"},
	} {
		for _, text := range texts {
			if got := tells(change(name, text), nil, false); len(got) > 0 {
				t.Errorf("%s: %s: got %q", name, text, got)
			}
		}
	}
	// A method of which the patch shows a part may look at the rest.
	part := "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,4 +1,5 @@\n def __eq__(self, other):\n+    x = 1\n     y = 2\n     z = 3\n     w = 4\n"
	if got := tells([]byte(part), nil, false); len(got) > 0 {
		t.Errorf("got %q", got)
	}
	script := newFile("show.py") + "+import pytest\n"
	script = strings.Replace(script, "+x\n", "", 1)
	if got := tells([]byte(script), nil, false); len(got) > 0 {
		t.Errorf("a script beside the patch: got %q", got)
	}
	if got := tells([]byte(script+string(change("x.py", "import show"))), nil, false); len(got) != 1 {
		t.Errorf("a module that the patch imports: got %q", got)
	}
}

func TestARunnerThatEndedEarlyIsNoticed(t *testing.T) {
	for _, tt := range []struct {
		command, text string
		want          string
	}{
		{"pytest -rA x.py", "PASSED x.py::a\n", "pytest did not print its summary"},
		{"pytest -rA x.py", "PASSED x.py::a\n==== 1 passed in 0.12s ====\n", ""},
		{"pytest -rA x.py", "PASSED x.py::a\n\x1b[32m=== \x1b[32m\x1b[1m9 passed\x1b[0m\x1b[32m in 0.12s\x1b[0m\x1b[32m ===\n", ""},
		{"pytest -rA x.py", "PASSED x.py::a\n1 passed, 2 warnings in 3.02 seconds\n", ""},
		{"tox -epy39 -v -- x.py", "PASSED x.py::a\n  congratulations :)\n", "the test runner of tox did not print its summary"},
		{"./tests/runtests.py --verbosity 2", "a ... ok\n", "unittest did not print its summary"},
		{"./tests/runtests.py --verbosity 2", "a ... ok\nRan 1 test in 0.001s\n", ""},
		{"bin/test -C", "test_x ok\n", "sympy's bin/test did not print its summary"},
		{"cargo test", "test x ... ok\n\ntest result: ok. 1 passed\n", ""},
		{"(go test -v .) | cat", "--- PASS: TestX (0.00s)\n", "go test did not print its summary"},
		{"make check", "PASS: x\n", ""},
		{"bundle exec rspec x.rb --format json | jq .", "x - passed\n", ""},
	} {
		if _, got := ending(tt.command, tt.text); got != tt.want {
			t.Errorf("%s: %q: got %q, want %q", tt.command, tt.text, got, tt.want)
		}
	}
}

func TestResultsThatTheRunnerDidNotPrint(t *testing.T) {
	parse := func(log string) (logparse.Statuses, []string, error) {
		return logparse.Parse("parse_log_pytest", log, logparse.Row{}, logparse.V5)
	}
	const script = ": '>>>>> Start Test Output'\npytest -rA x.py\n: '>>>>> End Test Output'"
	const own = ": '>>>>> Start Test Output'\nmake check\n: '>>>>> End Test Output'"
	code := func(name, line string) string {
		return "diff --git a/" + name + " b/" + name + "\n--- a/" + name + "\n+++ b/" + name + "\n@@ -1 +1 @@\n-x\n+" + line + "\n"
	}
	const honest, sum = "PASSED x.py::a\nPASSED x.py::b\n", "=== 2 passed in 0.12s ===\n"
	for name, tt := range map[string]struct{ script, patch, log, want string }{
		"honest":                {script, code("m.py", "x = 1"), honest + sum, ""},
		"honest, and talks":     {script, code("m.py", "print('all is PASSED now')"), "all is PASSED now\n" + honest + sum, ""},
		"honest, other result":  {script, code("m.py", "s = 'PASSED y.py::z'"), "PASSED y.py::z\n" + honest + sum, ""},
		"after the summary":     {script, code("m.py", "register(bye)"), "PASSED x.py::a\n" + sum + "PASSED x.py::b\n", "before the result of x.py::b"},
		"in the patch":          {script, code("m.py", `write(b"PASSED x.py::a\n")`), honest + sum, "the patch itself has the result of x.py::a"},
		"in a data file":        {script, code("m.txt", "PASSED x.py::a"), honest + sum, "the patch itself has the result of x.py::a"},
		"an exit, known end":    {script, code("m.py", "sys.exit(main())"), honest + sum, ""},
		"an exit, unknown end":  {own, code("m.py", "sys.exit(main())"), honest, "may end the test runner"},
		"hidden, unknown end":   {own, code("m.py", "exec(text)"), honest, "hides which code it runs"},
		"binary, unknown end":   {own, "diff --git a/m.py b/m.py\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIcmZ\n\n", honest, "is binary"},
		"binary, known end":     {script, "diff --git a/m.py b/m.py\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIcmZ\n\n", honest + sum, ""},
		"a script, unknown end": {own, strings.Replace(newFile("show.py"), "+x\n", "+sys.exit(0)\n", 1), honest, ""},
		"a package's own file":  {own, strings.Replace(newFile("p/__init__.py"), "+x\n", "+sys.exit(0)\n", 1), honest, "may end the test runner"},
		"a module, unknown end": {own, strings.Replace(newFile("m.py"), "+x\n", "+sys.exit(0)\n", 1) + code("n.py", "import m"), honest, "may end the test runner"},
		"honest, unknown end":   {own, code("m.py", "x = 1"), honest, ""},
	} {
		t.Run(name, func(t *testing.T) {
			log := grade.Log{Text: []byte(grade.StartMarker("N") + "\n" + tt.log + grade.EndMarker("N") + "\n"), Nonce: "N"}
			j, err := grade.Judge(log, parse, grade.Tests{FailToPass: []string{"x.py::a", "x.py::b"}}, grade.PassAndFail, logparse.V5)
			if err != nil || !j.Resolved {
				t.Fatalf("resolved %v, %v", j.Resolved, err)
			}
			got := Doubts([]byte(tt.patch), nil, tt.script, log, j, parse)
			if tt.want == "" && len(got) > 0 || tt.want != "" && (len(got) != 1 || !strings.Contains(got[0], tt.want)) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestResultsOfMoreTestsThanTheRunnerCountedAreSuspicious(t *testing.T) {
	for name, tt := range map[string]struct{ parser, command, id, log, want string }{
		"pytest":             {"parse_log_pytest", "pytest -rA x.py", "x.py::a", "PASSED x.py::a\nERROR x.py\n=== 1 error in 0.12s ===\n", "of 1 tests, but pytest counted 0"},
		"pytest, a fake sum": {"parse_log_pytest", "pytest -rA x.py", "x.py::a", "PASSED x.py::a\n=== 9 passed in 0.1s ===\nERROR x.py\n=== 1 error in 0.12s ===\n", "counted 0"},
		"pytest, honest":     {"parse_log_pytest", "pytest -rA x.py", "x.py::a", "PASSED x.py::a\nERROR y.py\n=== 1 passed, 1 error in 0.12s ===\n", ""},
		"pytest, excused":    {"parse_log_pytest", "pytest -rA x.py", "x.py::a", "XFAIL x.py::a\n=== 1 xfailed in 0.12s ===\n", ""},
		"pytest twice":       {"parse_log_pytest", "pytest -rA x.py; pytest -rA y.py", "x.py::a", "PASSED x.py::a\n=== 1 passed in 0.1s ===\n=== 1 error in 0.12s ===\n", ""},
		"unittest":           {"parse_log_django", "./tests/runtests.py", "a (m.T)", "a (m.T) ... ok\nm (unittest.loader._FailedTest) ... ERROR\nRan 1 test in 0.1s\n", "of 2 tests, but unittest counted 1"},
		"unittest, honest":   {"parse_log_django", "./tests/runtests.py", "a (m.T)", "a (m.T) ... ok\nb (m.T) ... FAIL\nsetUpClass (m.U) ... ERROR\nRan 2 tests in 0.1s\n", ""},
		"sympy":              {"parse_log_sympy", "bin/test -C x.py", "test_a", "test_a ok\n== tests finished: 0 passed, 1 exceptions, in 0.1 seconds ==\n", "of 1 tests, but sympy's bin/test counted 0"},
		"sympy, honest":      {"parse_log_sympy", "bin/test -C x.py", "test_a", "test_a ok\n== tests finished: 1 passed, in 0.1 seconds ==\n", ""},
	} {
		parse := func(log string) (logparse.Statuses, []string, error) {
			return logparse.Parse(tt.parser, log, logparse.Row{}, logparse.V5)
		}
		zero := 0
		log := grade.Log{Text: []byte(grade.StartMarker("N") + "\n" + tt.log + grade.EndMarker("N") + "\n"), Nonce: "N", ExitCode: &zero}
		j, err := grade.Judge(log, parse, grade.Tests{PassToPass: []string{tt.id}}, grade.PassAndFail, logparse.V5)
		if err != nil || !j.Resolved {
			t.Fatalf("%s: resolved %v, %v", name, j.Resolved, err)
		}
		got := Doubts(nil, nil, ": '>>>>> Start Test Output'\n"+tt.command+"\n: '>>>>> End Test Output'", log, j, parse)
		if tt.want == "" && len(got) > 0 || tt.want != "" && (len(got) != 1 || !strings.Contains(got[0], tt.want)) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// If the tests are unknown, the command may run any.
func TestWithoutKnownTestsAnyMayRun(t *testing.T) {
	if list := Deciders(Job{Script: "python -m tornado.test"}, Named([]byte(edit("tornado/test/web_test.py")))); len(list) != 1 || list[0].Tier != TierProject {
		t.Errorf("got %+v", list)
	}
}

// A family's script may run its tests before what is read.
func TestACommandBeforeTheMarkersDecides(t *testing.T) {
	job := Job{Workdir: "/app", Script: ": '>>>>> Start Test Output'\ncat out.json\n: '>>>>> End Test Output'", Command: "bash /app/tools/run.sh tests/test_a.py"}
	if list := Deciders(job, Named([]byte(edit("tools/run.sh")))); len(list) != 1 || list[0].Tier != TierRunner {
		t.Errorf("got %+v", list)
	}
}

func TestATestThatTheCommandDoesNotNameDecides(t *testing.T) {
	for command, want := range map[string]int{
		"make check":                    1,
		"python3 tests/run.py":          1,
		"pytest -rA tests/test_gold.py": 0,
		"./runtests.py test_gold":       0,
	} {
		script := ": '>>>>> Start Test Output'\n" + command + "\n: '>>>>> End Test Output'"
		list := Deciders(Job{Script: script, TestFiles: []string{"tests/test_gold.py"}}, Named([]byte(newFile("tests/test_mine.py"))))
		if len(list) != want || want > 0 && list[0].Tier != TierProject {
			t.Errorf("%s: got %+v", command, list)
		}
	}
}

// No honest patch to a repository of SWE-bench is suspicious.
func TestGoldPatchesHaveNothingThatForgedResultsNeed(t *testing.T) {
	n, odd := 0, 0
	for _, file := range datasettest.Files {
		for _, in := range datasettest.Rows(t, file) {
			n++
			end, why := ending(testCommand(in.EvalScript), "")
			if list := tells([]byte(in.Patch), nil, end < 0 && why == ""); len(list) > 0 {
				odd++
				t.Logf("%s: %q", in.ID, list)
			}
		}
	}
	if odd > n/100 {
		t.Errorf("%d of %d gold patches look forged", odd, n)
	}
}
