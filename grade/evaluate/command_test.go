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
		"beside the script":             {"bin/test tests/test_a.py", map[string]string{"bin/test": "#!/usr/bin/env python3\nfrom argparse import ArgumentParser\n"}, "bin/argparse.py bin/other.py", "bin/argparse.py"},
		"a package beside it":           {"python3 bin/test.py", map[string]string{"bin/test.py": "import shop\n"}, "bin/shop/__init__.py", "bin/shop/__init__.py"},
		"what the script imports":       {"bin/test", map[string]string{"bin/test": "#!/usr/bin/python\nfrom get_root import root\n", "bin/get_root.py": "import deep\n", "bin/deep.py": "", "bin/more.py": ""}, "bin/get_root.py bin/deep.py bin/more.py", "bin/deep.py bin/get_root.py"},
		"by the root":                   {"python tools/check.py", map[string]string{"tools/check.py": "import sys\nfrom tools.helper import (\n    report)\n", "tools/helper.py": ""}, "tools/helper.py", "tools/helper.py"},
		"a module":                      {"python3 -m tools.check tests/test_a.py", map[string]string{"tools/check.py": "from . import helper\n", "tools/__init__.py": "", "tools/helper.py": ""}, "tools/check.py tools/__init__.py tools/helper.py", "tools/__init__.py tools/check.py tools/helper.py"},
		"a module of a package":         {"python -Bm tools", map[string]string{"tools/__main__.py": ""}, "tools/__main__.py", "tools/__main__.py"},
		"the code's own module":         {"python3 -m shop.check", map[string]string{"shop/check.py": "import shop.core\n", "shop/core.py": "", "shop/__init__.py": ""}, "shop/core.py shop/__init__.py", ""},
		"in another folder":             {"cd ci && python3 run.py", map[string]string{"ci/run.py": "import util\n", "ci/util.py": ""}, "ci/run.py ci/util.py", "ci/run.py ci/util.py"},
		"by a variable":                 {"D=/testbed/ci; python3 ${D}/run.py", map[string]string{"ci/run.py": ""}, "ci/run.py", "ci/run.py"},
		"on Python's path":              {"PYTHONPATH=lib:ext python3 bin/run.py", map[string]string{"bin/run.py": "import helper\n", "ext/keep.py": ""}, "ext/json.py ext/x.py", "ext/json.py"},
		"on pytest's path":              {"pytest tests/test_a.py", map[string]string{"pytest.ini": "[pytest]\npythonpath = . lib\n  ext\n"}, "lib/json.py ext/json.py src/json.py lib/y.py", "ext/json.py lib/json.py"},
		"on its path in TOML":           {"pytest tests/test_a.py", map[string]string{"pyproject.toml": "[tool.pytest.ini_options]\npythonpath = [\"src\"]\n"}, "src/json.py lib/json.py", "src/json.py"},
		"on a conftest's path":          {"pytest tests/test_a.py", map[string]string{"conftest.py": "import os, sys\nsys.path.insert(0, os.path.join(os.path.dirname(__file__), 'lib'))\n"}, "lib/json.py src/json.py", "lib/json.py"},
		"imported by the command":       {"python -c 'from tools.check import main; main()'", map[string]string{"tools/check.py": ""}, "tools/check.py", "tools/check.py"},
		"plugins of a conftest":         {"pytest tests/test_a.py", map[string]string{"conftest.py": "pytest_plugins = [\n    'shop.fixtures', \"shop.more\"]\n", "src/shop/fixtures.py": "", "shop/more.py": ""}, "src/shop/fixtures.py shop/more.py", "shop/more.py src/shop/fixtures.py"},
		"with a type, and more":         {"pytest tests/test_a.py", map[string]string{"conftest.py": "pytest_plugins: list[str] = ['shop.fixtures']\npytest_plugins.append('shop.more')\nimport_module('tools.late')\n", "shop/fixtures.py": "", "shop/more.py": "", "tools/late.py": ""}, "shop/fixtures.py shop/more.py tools/late.py", "shop/fixtures.py shop/more.py tools/late.py?"},
		"hooks of a conftest":           {"pytest tests/test_a.py", map[string]string{"tests/conftest.py": "from shop.hooks import *\nfrom shop.core import x\n", "shop/hooks.py": "", "shop/core.py": ""}, "shop/hooks.py shop/core.py", "shop/hooks.py"},
		"a plugin of the command":       {"PYTEST_PLUGINS=b pytest -p tools.plug tests/test_a.py", map[string]string{"tools/plug.py": "", "b.py": ""}, "tools/plug.py b.py", "b.py tools/plug.py"},
		"a plugin of the settings":      {"pytest tests/test_a.py", map[string]string{"setup.cfg": "[tool:pytest]\naddopts = -rA -p tools.plug\n", "tools/plug.py": ""}, "tools/plug.py", "tools/plug.py"},
		"a plugin in TOML":              {"pytest tests/test_a.py", map[string]string{"pyproject.toml": "[tool.pytest.ini_options]\naddopts = [\"-p\", \"tools.plug\"]\n", "tools/plug.py": ""}, "tools/plug.py", "tools/plug.py"},
		"tox":                           {"tox -e py", map[string]string{"tox.ini": "[testenv]\ncommands = python {toxinidir}/tools/check.py {posargs}\n", "tools/check.py": "import helper", "tools/helper.py": ""}, "tools/check.py tools/helper.py", "tools/check.py tools/helper.py"},
		"make":                          {"make check", map[string]string{"Makefile": "check:\n\t@python3 tools/check.py tests\nall: src/a.c\n", "tools/check.py": "", "src/a.c": ""}, "tools/check.py src/a.c", "tools/check.py"},
		"npm":                           {"npm test", map[string]string{"package.json": `{"scripts": {"test": "node scripts/t.js"}}`, "scripts/t.js": "const r = require('./report')\n", "scripts/report.js": ""}, "scripts/t.js scripts/report.js", "scripts/report.js scripts/t.js"},
		"jest's settings":               {"npx jest a", map[string]string{"jest.config.js": "module.exports = {\n  setupFiles: [\n    '<rootDir>/src/setup.js'], testRunner: './tools/runner', moduleNameMapper: {x: './lib/y.js'} }\n", "src/setup.js": "require('./more')\n", "src/more.js": "", "tools/runner.js": "", "lib/y.js": ""}, "src/setup.js src/more.js tools/runner.js src/z.js", "src/setup.js tools/runner.js"},
		"jest in package.json":          {"npm test", map[string]string{"package.json": `{"main": "./code.js", "scripts": {"test": "jest"}, "jest": {"setupFilesAfterEnv": ["./config/x.js"], "globalSetup": "<rootDir>/config/g.js"}}`, "config/x.js": "", "config/g.js": "", "code.js": ""}, "config/x.js config/g.js code.js", "config/g.js config/x.js"},
		"mocha's settings":              {"npx mocha a", map[string]string{".mocharc.yml": "require:\n  - ./config/x\n  - config/y.js\nui: bdd\n", "config/x.js": "", "config/y.js": ""}, "config/x.js config/y.js lib/z.js", "config/x.js config/y.js"},
		"karma's settings":              {"npx karma start karma.conf.js", map[string]string{"karma.conf.js": "const p = require('./config/plugin');\n", "config/plugin.js": ""}, "config/plugin.js", "config/plugin.js?"},
		"PHPUnit's settings":            {"vendor/bin/phpunit a", map[string]string{"phpunit.xml.dist": "<phpunit bootstrap=\"config/start.php\" colors=\"true\">\n", "config/start.php": "<?php require './config/more.php';\n", "config/more.php": ""}, "config/start.php", "config/start.php"},
		"RSpec's settings":              {"bundle exec rspec a", map[string]string{".rspec": "--color\n--require ./config/x\n--require own_helper\n", "config/x.rb": "", "lib/own_helper.rb": ""}, "config/x.rb lib/own_helper.rb lib/z.rb", "config/x.rb lib/own_helper.rb"},
		"ruby -r":                       {"ruby -Ilib -r ./config/x a.rb", map[string]string{"config/x.rb": "require_relative 'y'\n", "config/y.rb": ""}, "config/x.rb config/y.rb", "config/x.rb config/y.rb"},
		"a Rakefile":                    {"rake test", map[string]string{"Rakefile": "require_relative 'ci/tasks'\n", "ci/tasks.rb": ""}, "ci/tasks.rb", "ci/tasks.rb?"},
		"a script without its end":      {"node ci/run", map[string]string{"ci/run.js": "require('./report')\n", "ci/report.js": ""}, "ci/run.js ci/report.js", "ci/report.js ci/run.js"},
		"make elsewhere":                {"make -C ci check", map[string]string{"ci/Makefile": "include rules.inc\ncheck:\n\tpython3 check.py\n", "ci/rules.inc": "", "ci/check.py": ""}, "ci/rules.inc ci/check.py", "ci/check.py ci/rules.inc"},
		"cargo's runner":                {"cargo test", map[string]string{".cargo/config.toml": "[target.x86_64-unknown-linux-gnu]\nrunner = \"ci/run.sh\"\n", "ci/run.sh": ""}, "ci/run.sh src/main.rs", "ci/run.sh"},
		"Gradle's own code":             {"./gradlew test", nil, "buildSrc/src/main/java/X.java", "buildSrc/src/main/java/X.java?"},
		"a file of arguments":           {"pytest @ci/args.txt", map[string]string{"ci/args.txt": "-p\ntools.plug\n", "tools/plug.py": ""}, "tools/plug.py ci/args.txt", "ci/args.txt tools/plug.py"},
		"Django's in pytest's":          {"pytest tests/test_a.py", map[string]string{"setup.cfg": "[tool:pytest]\naddopts = --ds config.tests\n", "config/tests.py": ""}, "config/tests.py", "config/tests.py"},
		"registered by a conftest":      {"pytest tests/test_a.py", map[string]string{"conftest.py": "import shop.core\nfrom shop import hooks\nimport shop.more as m\ndef pytest_configure(config):\n    config.pluginmanager.register(hooks)\npytest_runtest_makereport = m.report\n", "shop/hooks.py": "", "shop/more.py": "", "shop/core.py": ""}, "shop/hooks.py shop/more.py shop/core.py", "shop/hooks.py shop/more.py"},
		"what a script starts":          {"python3 ci/run.py", map[string]string{"ci/run.py": "import subprocess, sys\nfrom importlib import import_module\nimport_module('plug')\nexec(open('ci/part.py').read())\nsubprocess.run([\"bash\", \"ci/go.sh\"])\n", "ci/plug.py": "", "ci/part.py": "", "ci/go.sh": "python3 ci/last.py", "ci/last.py": ""}, "ci/plug.py ci/part.py ci/go.sh ci/last.py", "ci/go.sh ci/last.py ci/part.py ci/plug.py"},
		"a session of nox":              {"nox -s tests", map[string]string{"noxfile.py": "import nox\n\n@nox.session\ndef tests(s):\n    s.run(\"python\", \"tools/check.py\")\n", "tools/check.py": ""}, "tools/check.py", "tools/check.py"},
		"settings of Django":            {"./tests/runtests.py --settings=test_sqlite a", map[string]string{"tests/runtests.py": "#!/usr/bin/env python\n", "tests/test_sqlite.py": ""}, "tests/test_sqlite.py", "tests/test_sqlite.py"},
		"a package of the root":         {"pytest tests/test_a.py", nil, "__init__.py lib/__init__.py", "__init__.py"},
		"the imports of a test":         {"pytest tests/test_a.py", map[string]string{"tests/test_a.py": "import calc\nfrom tests import calc\n", "calc.py": ""}, "calc.py", ""},
		"the code beside a script":      {"python3 src/run.py", map[string]string{"src/run.py": "import shop\nimport other\n", "src/shop/__init__.py": "", "src/other.py": ""}, "src/shop/__init__.py src/other.py", ""},
		"code elsewhere":                {"python3 runtests.py", map[string]string{"runtests.py": "import money.core\n", "money/core.py": ""}, "money/core.py", "money/core.py?"},
		"code of a Perl script":         {"cd bin && perl check.pl", map[string]string{"bin/check.pl": "require '../lib/money.pl';\nrequire './report.pl';\n", "lib/money.pl": "", "bin/report.pl": ""}, "lib/money.pl bin/report.pl", "bin/report.pl lib/money.pl?"},
		"the code of a root script":     {"python3 runtests.py", map[string]string{"runtests.py": "import src\nimport util\n", "src/__init__.py": "", "util.py": ""}, "src/__init__.py util.py", "util.py"},
		"bash -c":                       {"bash -c 'python3 ci/run.py'", map[string]string{"ci/run.py": "import util\n", "ci/util.py": ""}, "ci/run.py ci/util.py", "ci/run.py ci/util.py"},
		"the dot of a shell":            {". ci/env.sh && pytest tests/test_a.py", map[string]string{"ci/env.sh": "export PYTEST_ADDOPTS='-p tools.plug'\n", "tools/plug.py": ""}, "ci/env.sh tools/plug.py", "ci/env.sh tools/plug.py"},
		"a command from a file":         {"$(cat ci/cmd.txt) tests/test_a.py", map[string]string{"ci/cmd.txt": "python3 ci/x.py\n", "ci/x.py": ""}, "ci/cmd.txt ci/x.py", "ci/cmd.txt ci/x.py"},
		"arguments from a file":         {"xargs -a ci/list.txt python3", map[string]string{"ci/list.txt": "tools/x.py\n", "tools/x.py": ""}, "ci/list.txt tools/x.py", "ci/list.txt tools/x.py"},
		"cd to the folder of a script":  {"bash ci/run.sh", map[string]string{"ci/run.sh": "set -e\ncd \"$(dirname \"$0\")\"\npython3 check.py\n", "ci/check.py": ""}, "ci/check.py", "ci/check.py"},
		"above its folder":              {"ci/run.sh", map[string]string{"ci/run.sh": "#!/bin/bash\ncd $(dirname ${BASH_SOURCE[0]})/..\n. ci/lib.sh\n", "ci/lib.sh": ""}, "ci/lib.sh", "ci/lib.sh"},
		"its folder in a variable":      {"ci/run.sh", map[string]string{"ci/run.sh": "#!/bin/bash\nHERE=$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\npython3 \"$HERE/check.py\"\n", "ci/check.py": ""}, "ci/check.py", "ci/check.py"},
		"beside it":                     {"sh ci/run.sh", map[string]string{"ci/run.sh": ". \"$(dirname \"$0\")/lib.sh\"\n", "ci/lib.sh": "sh ${0%/*}/more.sh\n", "ci/more.sh": ""}, "ci/lib.sh ci/more.sh", "ci/lib.sh ci/more.sh"},
		"the root by git":               {"bash ci/run.sh", map[string]string{"ci/run.sh": "ROOT=$(git rev-parse --show-toplevel)\npython3 $ROOT/tools/x.py\n", "tools/x.py": ""}, "tools/x.py", "tools/x.py"},
		"a document as a program":       {"python3 - <<'EOF'\nfrom ci import check\nEOF", map[string]string{"ci/check.py": "", "ci/__init__.py": ""}, "ci/check.py", "ci/check.py"},
		"run_path":                      {"python3 -c \"import runpy; runpy.run_path('ci/run.py')\"", map[string]string{"ci/run.py": "import util", "ci/util.py": ""}, "ci/run.py ci/util.py", "ci/run.py ci/util.py"},
		"another pytest.ini":            {"pytest -c ci/my.ini tests/test_a.py", map[string]string{"ci/my.ini": "[pytest]\naddopts = -p tools.plug\n", "tools/plug.py": ""}, "ci/my.ini tools/plug.py", "ci/my.ini tools/plug.py"},
		"a plugin of the project":       {"pytest tests/test_a.py", map[string]string{"setup.cfg": "[options.entry_points]\npytest11 =\n    shopper = ext.plugin\nconsole_scripts =\n    x = lib.cli:main\n", "ext/plugin.py": "", "lib/cli.py": ""}, "ext/plugin.py lib/cli.py", "ext/plugin.py?"},
		"the same in TOML":              {"pytest tests/test_a.py", map[string]string{"pyproject.toml": "[project.entry-points.pytest11]\nshopper = \"ext.plugin\"\n[project.scripts]\nx = \"lib.cli:main\"\n", "ext/plugin.py": "", "lib/cli.py": ""}, "ext/plugin.py lib/cli.py", "ext/plugin.py?"},
		"the same in setup.py":          {"pytest tests/test_a.py", map[string]string{"setup.py": "from setuptools import setup\nsetup(entry_points={'pytest11': ['shopper = ext.plugin']})\n", "ext/plugin.py": ""}, "ext/plugin.py", "ext/plugin.py?"},
		"scripts of tox":                {"tox -e py", map[string]string{"tox.ini": "[testenv]\ncommands_pre = {envpython} ci/pre.py\ncommands = bash {toxinidir}/ci/go.sh\n", "ci/pre.py": "", "ci/go.sh": "python3 ci/last.py\n", "ci/last.py": ""}, "ci/pre.py ci/go.sh ci/last.py", "ci/go.sh ci/last.py ci/pre.py"},
		"tox.toml":                      {"tox -e py", map[string]string{"tox.toml": "[env_run_base]\ncommands = [[\"python\", \"ci/x.py\"]]\n", "ci/x.py": ""}, "ci/x.py", "ci/x.py"},
		"a plugin of nox":               {"nox -s tests", map[string]string{"noxfile.py": "import nox\n@nox.session\ndef tests(s):\n    s.run(\"pytest\", \"-p\", \"tools.plug\")\n", "tools/plug.py": ""}, "tools/plug.py", "tools/plug.py"},
		"a plugin of pytest.main":       {"python3 runtests.py", map[string]string{"runtests.py": "import pytest\npytest.main(['-p', 'tools.plug'])\n", "tools/plug.py": ""}, "tools/plug.py", "tools/plug.py"},
		"make's variable":               {"make check", map[string]string{"Makefile": "PY ?= python3\ncheck:\n\t$(PY) tools/check.py\n", "tools/check.py": ""}, "tools/check.py", "tools/check.py"},
		"make's words":                  {"make check", map[string]string{"Makefile": "check:\n\ttools/check $(ARGS)\n", "tools/check": "#!/bin/sh\n"}, "tools/check", "tools/check"},
		"another Makefile":              {"make -f ci/rules check", map[string]string{"ci/rules": "check:\n\tpython3 tools/check.py\n", "tools/check.py": ""}, "tools/check.py", "tools/check.py"},
		"TypeScript":                    {"npm test", map[string]string{"package.json": `{"scripts": {"pretest": "tsx scripts/pre.ts", "test": "ts-node scripts/t.ts"}}`, "scripts/t.ts": "import {x} from './y';\n", "scripts/y.ts": "", "scripts/pre.ts": ""}, "scripts/t.ts scripts/y.ts scripts/pre.ts", "scripts/pre.ts scripts/t.ts scripts/y.ts"},
		"npm's own scripts":             {"npm run unit", map[string]string{"package.json": `{"scripts": {"unit": "npm run inner", "inner": "node ci/x"}}`, "ci/x.js": ""}, "ci/x.js", "ci/x.js"},
		"jest's settings elsewhere":     {"yarn jest --config ci/unit.json", map[string]string{"ci/unit.json": `{"rootDir": "..", "setupFiles": ["<rootDir>/tools/s.js"]}`, "tools/s.js": ""}, "tools/s.js", "tools/s.js"},
		"vitest's settings":             {"npx vitest run a", map[string]string{"vite.config.ts": "export default { test: { setupFiles: './tools/s.ts' } }\n", "tools/s.ts": ""}, "tools/s.ts", "tools/s.ts"},
		"a plugin of Babel":             {"npx jest a", map[string]string{"babel.config.js": "module.exports = {plugins: ['./tools/plugin.js']}\n", "tools/plugin.js": ""}, "tools/plugin.js", "tools/plugin.js?"},
		"NODE_OPTIONS":                  {"NODE_OPTIONS='--require ./ci/x.js' npx mocha a", map[string]string{"ci/x.js": ""}, "ci/x.js", "ci/x.js"},
		"RUBYOPT":                       {"RUBYOPT=-r./ci/x rspec a", map[string]string{"ci/x.rb": ""}, "ci/x.rb", "ci/x.rb"},
		"ruby -I":                       {"ruby -Ici -rreport a.rb", map[string]string{"ci/report.rb": ""}, "ci/report.rb", "ci/report.rb"},
		"perl -M":                       {"perl -Ici -MReport t/a.t", map[string]string{"ci/Report.pm": ""}, "ci/Report.pm", "ci/Report.pm"},
		"PHP's folder":                  {"vendor/bin/phpunit a", map[string]string{"phpunit.xml": "<phpunit bootstrap=\"config/start.php\">\n", "config/start.php": "<?php require_once __DIR__ . '/more.php';\nrequire __DIR__.'/../tools/y.php';\n", "config/more.php": "", "tools/y.php": ""}, "config/more.php tools/y.php", "config/more.php tools/y.php?"},
		"files of composer":             {"vendor/bin/phpunit a", map[string]string{"composer.json": `{"autoload-dev": {"files": ["config/f.php"]}}`, "config/f.php": ""}, "config/f.php", "config/f.php?"},
		"cargo's wrapper":               {"cargo test", map[string]string{".cargo/config.toml": "[build]\nrustc-wrapper = \"ci/wrap.sh\"\n[target.x]\nlinker = \"ci/ld\"\n", "ci/wrap.sh": "", "ci/ld": ""}, "ci/wrap.sh ci/ld", "ci/ld ci/wrap.sh"},
		"go run":                        {"go run ./ci/check", map[string]string{"ci/check/main.go": "package main\n"}, "ci/check/main.go", "ci/check/main.go"},
		"a folder for Python":           {"python3 ci tests/test_a.py", map[string]string{"ci/__main__.py": "import more\n", "ci/more.py": ""}, "ci/__main__.py ci/more.py", "ci/__main__.py ci/more.py"},
		"a folder for node":             {"node ci", map[string]string{"ci/index.js": "require('./more')\n", "ci/more.js": ""}, "ci/index.js ci/more.js", "ci/index.js ci/more.js"},
		"on the path of the shell":      {"PATH=$PWD/ci/bin:$PATH pytest tests/test_a.py", map[string]string{"ci/bin/x": ""}, "ci/bin/pytest", "ci/bin/pytest"},
		"behind PYTHONPATH":             {"export PYTHONPATH=\"${PYTHONPATH}:ci\"; pytest -p plug tests/test_a.py", map[string]string{"ci/plug.py": ""}, "ci/plug.py", "ci/plug.py"},
		"settings of a folder":          {"cd sub && pytest tests/test_a.py", map[string]string{"sub/setup.cfg": "[tool:pytest]\naddopts = -p tools.plug\n", "sub/tools/plug.py": ""}, "sub/tools/plug.py", "sub/tools/plug.py"},
		"a script without a shell":      {"python3 ci/run.py", map[string]string{"ci/run.py": "import os, subprocess\nos.system('sh ci/a')\nsubprocess.call(['ci/b'])\n", "ci/a": "#!/bin/sh\n", "ci/b": "#!/bin/sh\n"}, "ci/a ci/b", "ci/a ci/b"},
		"what JavaScript starts":        {"node ci/run.js", map[string]string{"ci/run.js": "const {spawnSync} = require('child_process')\nspawnSync('node', ['tools/inner.js'])\nrequire(path.join(__dirname, 'z.js'))", "tools/inner.js": "", "ci/z.js": ""}, "tools/inner.js ci/z.js", "ci/z.js tools/inner.js?"},
		"what Ruby loads":               {"ruby ci/run.rb", map[string]string{"ci/run.rb": "$LOAD_PATH.unshift File.expand_path('../../tools', __FILE__)\nrequire 'rep'\nload 'tools/z.rb'\n", "tools/rep.rb": "", "tools/z.rb": ""}, "tools/z.rb", "tools/z.rb?"},
		"a conftest's imports":          {"pytest tests/test_a.py", map[string]string{"conftest.py": "from ci.monkey import patch\nimport shop.a\npatch()\n", "ci/monkey.py": "", "shop/core.py": ""}, "ci/monkey.py", "ci/monkey.py?"},
		"a pattern":                     {"for f in ci/*.sh; do . $f; done", map[string]string{"ci/a.sh": ""}, "ci/a.sh lib/a.sh", "ci/a.sh?"},
		"npm's other scripts":           {"npm test", map[string]string{"package.json": `{"scripts": {"start": "node src/server.js", "build": "node lib/build", "test": "jest"}}`, "src/server.js": "require('./deep')\n", "src/deep.js": "", "lib/build.js": ""}, "src/server.js src/deep.js lib/build.js", ""},
		"make's other targets":          {"make check", map[string]string{"Makefile": "run:\n\tpython3 -m shop\n\tpython3 src/main.py\n\t./src/go.sh\ncheck:\n\tpytest\n", "shop/__main__.py": "", "src/main.py": "", "src/go.sh": ""}, "shop/__main__.py src/main.py src/go.sh", ""},
		"tox's other environments":      {"pytest tests/test_a.py", map[string]string{"tox.ini": "[testenv:run]\ncommands = python -m shop.cli\n   python src/main.py\n", "shop/cli.py": "", "src/main.py": ""}, "shop/cli.py src/main.py", ""},
		"the comments of a script":      {"bash run_tests.sh", map[string]string{"run_tests.sh": "# see src/core.py\nmypy src/core.py\npytest tests\n", "src/core.py": ""}, "src/core.py", ""},
		"a script in the code's folder": {"A=1 src/check tests", map[string]string{"src/check": "", "src/b": ""}, "src/check src/b", "src/check"},
		"code that is compiled":         {"gcc -o t src/core.c tests/t.c && ./t", map[string]string{"src/core.c": ""}, "src/core.c", ""},
		"code with doctests":            {"pytest --doctest-modules src/core.py", map[string]string{"src/core.py": ""}, "src/core.py", ""},
		"a marker of pytest":            {"pytest -rA -m api tests/test_a.py", map[string]string{"api/__init__.py": "", "api/core.py": ""}, "api/__init__.py api/core.py", ""},
		"composer's other scripts":      {"composer test", map[string]string{"composer.json": `{"scripts": {"serve": "php src/server.php", "test": "phpunit"}}`, "src/server.php": ""}, "src/server.php", ""},
		"tests of the package":          {"python -c 'import shop; shop.test()'", map[string]string{"shop/__init__.py": "", "shop/core.py": ""}, "shop/__init__.py shop/core.py", ""},
		"names of code for jest":        {"npx jest a", map[string]string{"jest.config.js": "module.exports = { moduleNameMapper: {'^@/(.*)$': '<rootDir>/src/$1', x: './src/y.js'}, collectCoverageFrom: ['src/z.js'] }\n", "src/y.js": "", "src/z.js": ""}, "src/y.js src/z.js", ""},
		"a linter":                      {"tox -e py", map[string]string{"tox.ini": "[testenv]\ncommands = flake8 src shop/core.py\n    pytest {posargs}\n", "shop/core.py": ""}, "shop/core.py", ""},
		"the code of a Rakefile":        {"bundle exec rake test", map[string]string{"Rakefile": "$:.unshift 'lib'\nrequire_relative 'lib/shop/version'\nruby 'lib/x.rb'\n", "lib/shop/version.rb": "", "src/a.rb": ""}, "lib/shop/version.rb", "lib/shop/version.rb?"},
		"the code of a bootstrap":       {"vendor/bin/phpunit a", map[string]string{"phpunit.xml": "<phpunit bootstrap=\"tests/boot.php\"><source><include><directory>src</directory><file>src/x.php</file></include></source>\n", "tests/boot.php": "<?php require './src/x.php';\nrequire __DIR__.'/../src/y.php';", "src/x.php": "", "src/y.php": ""}, "src/x.php src/y.php", ""},
		"the project's settings":        {"python manage.py test a", map[string]string{"manage.py": "import os\nos.environ.setdefault('DJANGO_SETTINGS_MODULE', 'shop.settings')\n", "shop/settings.py": ""}, "shop/settings.py", ""},
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
