package evaluate

import (
	"maps"
	"strings"
	"testing"
)

// The scripts that the test command runs are read before the patch could change them. A command in
// them counts like the test command's own.
func TestWhatAScriptOfTheImageRunsDecides(t *testing.T) {
	dir := repo(t, map[string]string{
		"run_tests.sh": "set -e\nci/inner \"$@\"\n", "ci/inner": "#!/bin/sh\npython ci/check.py --fast\n", "ci/check.py": "x\n",
		"tool": "#!/usr/bin/env python3\nopen('ci/other.py')\n", "ci/other.py": "x\n", "src/a.py": "x\n",
	})
	patch := edit("ci/check.py") + edit("ci/other.py") + edit("src/a.py") +
		"diff --git a/ci/inner b/ci/inner\n--- a/ci/inner\n+++ b/ci/inner\n@@ -1,2 +1,2 @@\n #!/bin/sh\n-python ci/check.py --fast\n+true src/a.py\n"
	job := Job{Patch: []byte(patch), Script: "bash ./run_tests.sh tests/test_a.py && ./tool", TestFiles: []string{"tests/test_a.py"}}
	e := evaluateLocally(t, dir, job)
	job.Workdir, job.Ran = dir, e.Ran
	var got []string
	for _, d := range Deciders(job, e.Changes) {
		got = append(got, d.Path)
	}
	if want := "ci/check.py ci/inner"; strings.Join(got, " ") != want {
		t.Errorf("deciders %q, want %q; ran %+v", got, want, e.Ran)
	}
}

// The names in a command, and in what it reads, are resolved as the shell, Python and pytest do.
func TestWhatTheCommandReadsFirstDecides(t *testing.T) {
	tests := []string{"tests/test_a.py"}
	for name, tt := range map[string]struct {
		command string
		files   map[string]string
		patch   string // the files that it changes or creates
		want    string
	}{
		"beside the script":         {"bin/test tests/test_a.py", map[string]string{"bin/test": "#!/usr/bin/env python3\nfrom argparse import ArgumentParser\n"}, "bin/argparse.py bin/other.py", "bin/argparse.py"},
		"a package beside it":       {"python3 bin/test.py", map[string]string{"bin/test.py": "import shop\n"}, "bin/shop/__init__.py", "bin/shop/__init__.py"},
		"what the script imports":   {"bin/test", map[string]string{"bin/test": "#!/usr/bin/python\nfrom get_root import root\n", "bin/get_root.py": "import deep\n", "bin/deep.py": "", "bin/more.py": ""}, "bin/get_root.py bin/deep.py bin/more.py", "bin/deep.py bin/get_root.py"},
		"by the root":               {"python tools/check.py", map[string]string{"tools/check.py": "import sys\nfrom tools.helper import (\n    report)\n", "tools/helper.py": ""}, "tools/helper.py", "tools/helper.py"},
		"a module":                  {"python3 -m tools.check tests/test_a.py", map[string]string{"tools/check.py": "from . import helper\n", "tools/__init__.py": "", "tools/helper.py": ""}, "tools/check.py tools/__init__.py tools/helper.py", "tools/__init__.py tools/check.py tools/helper.py"},
		"a module of a package":     {"python -Bm tools", map[string]string{"tools/__main__.py": ""}, "tools/__main__.py", "tools/__main__.py"},
		"the code's own module":     {"python3 -m shop.check", map[string]string{"shop/check.py": "import shop.core\n", "shop/core.py": "", "shop/__init__.py": ""}, "shop/core.py shop/__init__.py", ""},
		"in another folder":         {"cd ci && python3 run.py", map[string]string{"ci/run.py": "import util\n", "ci/util.py": ""}, "ci/run.py ci/util.py", "ci/run.py ci/util.py"},
		"by a variable":             {"D=/testbed/ci; python3 ${D}/run.py", map[string]string{"ci/run.py": ""}, "ci/run.py", "ci/run.py"},
		"on Python's path":          {"PYTHONPATH=lib:ext python3 bin/run.py", map[string]string{"bin/run.py": "import helper\n", "ext/keep.py": ""}, "ext/json.py ext/x.py", "ext/json.py"},
		"on pytest's path":          {"pytest tests/test_a.py", map[string]string{"pytest.ini": "[pytest]\npythonpath = . lib\n  ext\n"}, "lib/json.py ext/json.py src/json.py lib/y.py", "ext/json.py lib/json.py"},
		"on its path in TOML":       {"pytest tests/test_a.py", map[string]string{"pyproject.toml": "[tool.pytest.ini_options]\npythonpath = [\"src\"]\n"}, "src/json.py lib/json.py", "src/json.py"},
		"on a conftest's path":      {"pytest tests/test_a.py", map[string]string{"conftest.py": "import os, sys\nsys.path.insert(0, os.path.join(os.path.dirname(__file__), 'lib'))\n"}, "lib/json.py src/json.py", "lib/json.py"},
		"imported by the command":   {"python -c 'from tools.check import main; main()'", map[string]string{"tools/check.py": ""}, "tools/check.py", "tools/check.py"},
		"plugins of a conftest":     {"pytest tests/test_a.py", map[string]string{"conftest.py": "pytest_plugins = [\n    'shop.fixtures', \"shop.more\"]\n", "src/shop/fixtures.py": "", "shop/more.py": ""}, "src/shop/fixtures.py shop/more.py", "shop/more.py src/shop/fixtures.py"},
		"hooks of a conftest":       {"pytest tests/test_a.py", map[string]string{"tests/conftest.py": "from shop.hooks import *\nfrom shop.core import x\n", "shop/hooks.py": "", "shop/core.py": ""}, "shop/hooks.py shop/core.py", "shop/hooks.py"},
		"a plugin of the command":   {"PYTEST_PLUGINS=b pytest -p tools.plug tests/test_a.py", map[string]string{"tools/plug.py": "", "b.py": ""}, "tools/plug.py b.py", "b.py tools/plug.py"},
		"a plugin of the settings":  {"pytest tests/test_a.py", map[string]string{"setup.cfg": "[tool:pytest]\naddopts = -rA -p tools.plug\n", "tools/plug.py": ""}, "tools/plug.py", "tools/plug.py"},
		"a plugin in TOML":          {"pytest tests/test_a.py", map[string]string{"pyproject.toml": "[tool.pytest.ini_options]\naddopts = [\"-p\", \"tools.plug\"]\n", "tools/plug.py": ""}, "tools/plug.py", "tools/plug.py"},
		"tox":                       {"tox -e py", map[string]string{"tox.ini": "[testenv]\ncommands = python {toxinidir}/tools/check.py {posargs}\n", "tools/check.py": "import helper", "tools/helper.py": ""}, "tools/check.py tools/helper.py", "tools/check.py tools/helper.py"},
		"make":                      {"make check", map[string]string{"Makefile": "check:\n\t@python3 tools/check.py tests\nall: src/a.c\n", "tools/check.py": "", "src/a.c": ""}, "tools/check.py src/a.c", "tools/check.py"},
		"npm":                       {"npm test", map[string]string{"package.json": `{"scripts": {"test": "node scripts/t.js"}}`, "scripts/t.js": "const r = require('./report')\n", "scripts/report.js": ""}, "scripts/t.js scripts/report.js", "scripts/report.js scripts/t.js"},
		"jest's settings":           {"npx jest a", map[string]string{"jest.config.js": "module.exports = {\n  setupFiles: [\n    '<rootDir>/src/setup.js'], testRunner: './tools/runner', moduleNameMapper: {x: './lib/y.js'} }\n", "src/setup.js": "require('./more')\n", "src/more.js": "", "tools/runner.js": "", "lib/y.js": ""}, "src/setup.js src/more.js tools/runner.js src/z.js", "src/setup.js tools/runner.js"},
		"jest in package.json":      {"npm test", map[string]string{"package.json": `{"main": "./code.js", "scripts": {"test": "jest"}, "jest": {"setupFilesAfterEnv": ["./config/x.js"], "globalSetup": "<rootDir>/config/g.js"}}`, "config/x.js": "", "config/g.js": "", "code.js": ""}, "config/x.js config/g.js code.js", "config/g.js config/x.js"},
		"mocha's settings":          {"npx mocha a", map[string]string{".mocharc.yml": "require:\n  - ./config/x\n  - config/y.js\nui: bdd\n", "config/x.js": "", "config/y.js": ""}, "config/x.js config/y.js lib/z.js", "config/x.js config/y.js"},
		"karma's settings":          {"npx karma start karma.conf.js", map[string]string{"karma.conf.js": "const p = require('./config/plugin');\n", "config/plugin.js": ""}, "config/plugin.js", "config/plugin.js?"},
		"PHPUnit's settings":        {"vendor/bin/phpunit a", map[string]string{"phpunit.xml.dist": "<phpunit bootstrap=\"config/start.php\" colors=\"true\">\n", "config/start.php": "<?php require './config/more.php';\n", "config/more.php": ""}, "config/start.php", "config/start.php"},
		"RSpec's settings":          {"bundle exec rspec a", map[string]string{".rspec": "--color\n--require ./config/x\n--require own_helper\n", "config/x.rb": "", "lib/own_helper.rb": ""}, "config/x.rb lib/own_helper.rb lib/z.rb", "config/x.rb lib/own_helper.rb"},
		"ruby -r":                   {"ruby -Ilib -r ./config/x a.rb", map[string]string{"config/x.rb": "require_relative 'y'\n", "config/y.rb": ""}, "config/x.rb config/y.rb", "config/x.rb config/y.rb"},
		"a Rakefile":                {"rake test", map[string]string{"Rakefile": "require_relative 'ci/tasks'\n", "ci/tasks.rb": ""}, "ci/tasks.rb", "ci/tasks.rb?"},
		"a script without its end":  {"node ci/run", map[string]string{"ci/run.js": "require('./report')\n", "ci/report.js": ""}, "ci/run.js ci/report.js", "ci/report.js ci/run.js"},
		"make elsewhere":            {"make -C ci check", map[string]string{"ci/Makefile": "include rules.inc\ncheck:\n\tpython3 check.py\n", "ci/rules.inc": "", "ci/check.py": ""}, "ci/rules.inc ci/check.py", "ci/check.py ci/rules.inc"},
		"cargo's runner":            {"cargo test", map[string]string{".cargo/config.toml": "[target.x86_64-unknown-linux-gnu]\nrunner = \"ci/run.sh\"\n", "ci/run.sh": ""}, "ci/run.sh src/main.rs", "ci/run.sh"},
		"Gradle's own code":         {"./gradlew test", nil, "buildSrc/src/main/java/X.java", "buildSrc/src/main/java/X.java?"},
		"a file of arguments":       {"pytest @ci/args.txt", map[string]string{"ci/args.txt": "-p\ntools.plug\n", "tools/plug.py": ""}, "tools/plug.py ci/args.txt", "ci/args.txt tools/plug.py"},
		"Django's in pytest's":      {"pytest tests/test_a.py", map[string]string{"setup.cfg": "[tool:pytest]\naddopts = --ds config.tests\n", "config/tests.py": ""}, "config/tests.py", "config/tests.py"},
		"registered by a conftest":  {"pytest tests/test_a.py", map[string]string{"conftest.py": "import shop.core\nfrom shop import hooks\nimport shop.more as m\ndef pytest_configure(config):\n    config.pluginmanager.register(hooks)\npytest_runtest_makereport = m.report\n", "shop/hooks.py": "", "shop/more.py": "", "shop/core.py": ""}, "shop/hooks.py shop/more.py shop/core.py", "shop/hooks.py shop/more.py"},
		"what a script starts":      {"python3 ci/run.py", map[string]string{"ci/run.py": "import subprocess, sys\nfrom importlib import import_module\nimport_module('plug')\nexec(open('ci/part.py').read())\nsubprocess.run([\"bash\", \"ci/go.sh\"])\n", "ci/plug.py": "", "ci/part.py": "", "ci/go.sh": "python3 ci/last.py", "ci/last.py": ""}, "ci/plug.py ci/part.py ci/go.sh ci/last.py", "ci/go.sh ci/last.py ci/part.py ci/plug.py"},
		"a session of nox":          {"nox -s tests", map[string]string{"noxfile.py": "import nox\n\n@nox.session\ndef tests(s):\n    s.run(\"python\", \"tools/check.py\")\n", "tools/check.py": ""}, "tools/check.py", "tools/check.py"},
		"settings of Django":        {"./tests/runtests.py --settings=test_sqlite a", map[string]string{"tests/runtests.py": "#!/usr/bin/env python\n", "tests/test_sqlite.py": ""}, "tests/test_sqlite.py", "tests/test_sqlite.py"},
		"a package of the root":     {"pytest tests/test_a.py", nil, "__init__.py lib/__init__.py", "__init__.py"},
		"the imports of a test":     {"pytest tests/test_a.py", map[string]string{"tests/test_a.py": "import calc\nfrom tests import calc\n", "calc.py": ""}, "calc.py", ""},
		"the code beside a script":  {"python3 src/run.py", map[string]string{"src/run.py": "import shop\nimport other\n", "src/shop/__init__.py": "", "src/other.py": ""}, "src/shop/__init__.py src/other.py", ""},
		"code elsewhere":            {"python3 runtests.py", map[string]string{"runtests.py": "import money.core\n", "money/core.py": ""}, "money/core.py", "money/core.py?"},
		"code of a Perl script":     {"cd bin && perl check.pl", map[string]string{"bin/check.pl": "require '../lib/money.pl';\nrequire './report.pl';\n", "lib/money.pl": "", "bin/report.pl": ""}, "lib/money.pl bin/report.pl", "bin/report.pl lib/money.pl?"},
		"the code of a root script": {"python3 runtests.py", map[string]string{"runtests.py": "import src\nimport util\n", "src/__init__.py": "", "util.py": ""}, "src/__init__.py util.py", "util.py"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"tests/test_a.py": "x\n", "lib/x.py": "x\n", "shop/a.py": "x\n", "src/a.py": "x\n"}
			maps.Copy(files, tt.files)
			dir := repo(t, files)
			patchOf := func(names ...string) []byte {
				for _, name := range names {
					write(t, dir, map[string]string{name: files[name] + "\n"})
				}
				git(t, dir, "add", "-A")
				defer git(t, dir, "reset", "-q", "--hard")
				return []byte(git(t, dir, "diff", "--cached"))
			}
			job := Job{
				Workdir: dir, Command: strings.ReplaceAll(tt.command, "/testbed", dir), TestFiles: tests, Script: "true",
				Patch: patchOf(strings.Fields(tt.patch)...), Gold: patchOf("shop/a.py", "src/a.py"),
			}
			e := evaluateLocally(t, dir, job)
			job.Ran = e.Ran
			var got []string
			for _, d := range Deciders(job, e.Changes) {
				if got = append(got, d.Path); d.Tier != TierRunner {
					got[len(got)-1] += "?" // for a person
				}
			}
			if !e.Applied || strings.Join(got, " ") != tt.want {
				t.Errorf("applied %v (%s), deciders %q, want %q; ran %+v", e.Applied, e.Refused, got, tt.want, e.Ran)
			}
		})
	}
}
