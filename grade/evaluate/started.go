package evaluate

import (
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"batch.example/batch/internal/lazy"
)

// settings examines the files by which a runner without a script finds what to run, and which
// nothing names.
func (s *start) settings(command string) {
	within := s.within(s.expand(command, "."))
	dirs := slices.Clone(within)
	for _, test := range s.tests {
		for dir := path.Dir(test); dir != "." && dir != "/"; dir = path.Dir(dir) {
			if s.open(dir+"/conftest.py", dir); !slices.Contains(dirs, dir) && len(dirs) < 20 {
				dirs = append(dirs, dir)
			}
		}
	}
	for _, dir := range dirs {
		for _, name := range []string{"pytest.ini", ".pytest.ini", "tox.ini", "tox.toml", "setup.cfg", "setup.py", "pyproject.toml", "conftest.py"} {
			s.open(path.Join(dir, name), dir)
		}
	}
	for _, build := range []struct {
		command func() *regexp.Regexp
		files   []string
	}{
		{lazy.Regexp(`\bmake\b`), []string{"Makefile", "makefile", "GNUmakefile"}},
		{lazy.Regexp(`\b(?:npm|npx|pnpm|yarn|bun|node|jest|mocha|karma)\b`), []string{
			"package.json", "jest.config.js", "jest.config.cjs", "jest.config.mjs", "jest.config.ts", "jest.config.json", "karma.conf.js", "test/mocha.opts",
			"babel.config.js", "babel.config.json", ".babelrc", "vite.config.js", "vite.config.ts", "vitest.config.js", "vitest.config.ts",
			"spec/support/jasmine.json", ".mocharc.js", ".mocharc.cjs", ".mocharc.json", ".mocharc.jsonc", ".mocharc.yml", ".mocharc.yaml",
		}},
		{lazy.Regexp(`\bphpunit\b`), []string{"phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml", "composer.json"}},
		{lazy.Regexp(`\brspec\b`), []string{".rspec"}},
		{lazy.Regexp(`\brake\b`), []string{"Rakefile"}},
		{lazy.Regexp(`\bcargo\b`), []string{".cargo/config.toml", ".cargo/config"}},
		{lazy.Regexp(`\bnox\b`), []string{"noxfile.py"}},
		{lazy.Regexp(`\bjust\b`), []string{"justfile"}},
		{lazy.Regexp(`\bcomposer\b`), []string{"composer.json"}},
	} {
		if build.command().MatchString(command) {
			for _, dir := range within {
				for _, name := range build.files {
					s.open(path.Join(dir, name), dir)
				}
			}
		}
	}
}

var (
	shebang = lazy.Regexp(`^#!.*\b(\w*sh|python)[\d.]*\b`)
	// led matches the name of a script behind its interpreter, or one that is run by its path.
	led         = lazy.Regexp(`(?m)\b(?:python|pypy|bash|sh|source|node|ts-node|tsx|ruby|perl|php)[\d.]*(?:\s+-[A-Za-z]+)*\s+["']?([\w./-]+)|["'\s](\.{1,2}/[\w./-]+)|(?:^|[;&|(])[ \t@-]*(?:\w+=\S*[ \t]+)*((?:[\w.-]+/)+[\w.-]+)`)
	namesPlugin = lazy.Regexp(`(?s)\bpytest_plugins(?:\s*(?::[^=\n]*)?\+?=|\.\w+\()\s*(\(.*?\)|\[.*?\]|[^\n]*)`)
	moduleName  = lazy.Regexp(`["']([A-Za-z_][\w.]*)["']`)
	hooks       = lazy.Regexp(`(?m)^\s*from\s+(\.*[\w.]*)\s+import\s+(?:\*|\([^)]*\bpytest_\w|[^\n(]*\bpytest_\w)`)
	pytestAt    = lazy.Regexp(`(?m)^\s*python_?paths?\s*=[ \t]*(\[[^\]]*\]|.*(?:\n[ \t]+\S.*)*)`)
	pathInsert  = lazy.Regexp(`\bsys\.path(?:\.insert\(|\[:?0\]|\s*=).*`)
	literal     = lazy.Regexp(`["']([\w./-]+)["']`)
	relative    = lazy.Regexp(`["'](\.{1,2}/[\w./-]+)["']|\brequire_relative\s*\(?["']([\w./-]+)`)
	// required matches what a runner loads before the tests, by an option or by its settings.
	required = lazy.Regexp(`(?:[\s=]-[rM]|--(?:require|import|loader|file|bootstrap|reporter)\b|\b(?:require|bootstrap|runner|file|helpers|rustc-wrapper|linker|setupFiles(?:AfterEnv)?|global(?:Setup|Teardown)|test(?:Runner|Environment)|reporters?|transform|resolver)["']?\s*[:=])` +
		`\s*=?\s*(\[[^\]]*\]|\{[^}]*\}|(?:-\s+[^\n]+\n?\s*)+|[^\s,;>]+)`)
	// isSettings matches the settings of runners that have such names.
	isSettings = lazy.Regexp(`^(?:.*\.json|(?:jest|vite|vitest)\.config\..*|\.mocharc\..*|mocha\.opts|karma\.conf\.js|phpunit.*\.xml.*|\.rspec|config|config\.toml)$`)
	included   = lazy.Regexp(`(?m)^-?s?include[ \t]+([^#\n]+)`)
	registered = lazy.Regexp(`\.register\(\s*(\w+)|(?m:^\s*pytest_\w+\s*=\s*(\w+)\.)`)
	dynamic    = lazy.Regexp(`\b(?:import_module|__import__|run_module|import_plugin)\(\s*["']([\w.]+)["']`)
	opened     = lazy.Regexp(`["']/?([\w./-]+\.(?:py|sh|[cm]?js|ts|rb|php|pl)|[\w.-]+(?:/[\w.-]+)+)["']`)
	mentioned  = lazy.Regexp(`[\w.-]+(?:/[\w.-]+)+`)
	// entryPoints matches the plugins of pytest that the project's own packages have.
	entryPoints = lazy.Regexp(`pytest11["'\]]*\s*[:=]?\s*(\[[^\]]*\]|\{[^}]*\}|(?:[ \t"']*[\w.-]+[ \t]*=[ \t]*["']?[A-Za-z_][^\n]*\n?)*)`)
	entryPoint  = lazy.Regexp(`=\s*["']?([A-Za-z_][\w.]*)`)
	includes    = lazy.Regexp(`-I\s*([\w./-]+)`)
	// argument matches the space between the arguments of a program that Python starts.
	argument = lazy.Regexp(`["'],\s*["']`)
)

// file examines a file that the processes read.
func (s *start) file(f source, text string) {
	base, dir := path.Base(f.name), path.Dir(f.name)
	interpreter := ""
	if m := shebang().FindStringSubmatch(text); m != nil {
		interpreter = m[1]
	}
	if base == "package.json" || base == "composer.json" {
		text = s.sections(text, dir)
	}
	for _, m := range entryPoints().FindAllStringSubmatch(text, -1) {
		for _, name := range entryPoint().FindAllStringSubmatch(m[1], -1) {
			file := strings.ReplaceAll(name[1], ".", "/")
			for _, top := range pluginTops(dir) { // it may be what is tested
				s.add(Ran{Path: path.Join(top, file), Module: true, Outside: true})
			}
		}
	}
	if isSettings().MatchString(base) {
		for _, top := range slices.Compact([]string{f.top, "."}) {
			s.required(text, top)
		}
	}
	switch {
	case base == "setup.py" && !strings.Contains(s.text, base): // not run
	case base == "conftest.py":
		s.paths(text, dir)
		imports := append(importAll().FindAllStringSubmatch(text, -1), importFrom().FindAllStringSubmatch(text, -1)...)
		for _, name := range append(imports, dynamic().FindAllStringSubmatch(text, -1)...) {
			if module, _, _ := strings.Cut(name[1], " "); strings.Contains(module, ".") {
				s.add(Ran{Path: strings.ReplaceAll(module, ".", "/"), Module: true, From: ".", Outside: true})
			}
		}
		for _, m := range registered().FindAllStringSubmatch(text, -1) {
			for _, name := range bound(text, cmp.Or(m[1], m[2])) {
				s.plugin(dir, name)
			}
		}
		for _, m := range dynamic().FindAllStringSubmatch(text, -1) {
			if strings.HasPrefix(m[0], "import_plugin") {
				s.plugin(dir, m[1])
			}
		}
		for _, m := range namesPlugin().FindAllStringSubmatch(text, -1) {
			for _, name := range moduleName().FindAllStringSubmatch(m[1], -1) {
				s.plugin(dir, name[1])
			}
		}
		for _, m := range hooks().FindAllStringSubmatch(text, -1) {
			s.plugin(dir, m[1])
		}
	case strings.HasSuffix(base, ".py") || interpreter == "python":
		s.first(f.top)
		s.paths(text, dir)
		for _, m := range dynamic().FindAllStringSubmatch(text, -1) {
			text += "\nimport " + m[1]
		}
		s.imports(text, f.top, dir, false)
		s.opens(text, f)
		s.runs(text, ".", false)
	case strings.HasSuffix(base, ".sh") || strings.HasSuffix(base, ".bash") || strings.HasSuffix(interpreter, "sh"):
		s.command(text, f.name)
	case slices.Contains([]string{".js", ".cjs", ".mjs", ".ts", ".rb", ".php", ".pl", ".rake"}, path.Ext(base)) || base == "Rakefile":
		for _, m := range relative().FindAllStringSubmatch(text, -1) {
			name := path.Join(dir, cmp.Or(m[1], m[2]))
			s.add(Ran{Path: strings.TrimSuffix(name, path.Ext(name)), Module: true, From: dir, Outside: outside(name, dir)})
			s.openCode(name)
		}
		s.opens(text, f)
		s.runs(text, dir, false)
	default: // a configuration
		text = s.expand(strings.NewReplacer("{toxinidir}", ".", "{envpython}", "python").Replace(text), f.name)
		s.options(text, []string{dir})
		for _, m := range included().FindAllStringSubmatch(text, -1) {
			for _, name := range words(m[1]) {
				s.add(Ran{Path: path.Join(dir, name)})
				s.open(path.Join(dir, name), dir)
			}
		}
		for _, m := range pytestAt().FindAllStringSubmatch(text, -1) {
			for _, name := range words(strings.Trim(m[1], "[]")) {
				s.first(s.local(dir, name))
			}
		}
		s.runs(text, dir, true)
		if path.Ext(base) == "" || path.Ext(base) == ".txt" || base == "composer.json" {
			for _, name := range mentioned().FindAllString(comment().ReplaceAllString(text, ""), -1) {
				for _, name := range []string{s.local(dir, name), s.local(".", name)} {
					s.add(Ran{Path: name, From: topFolder(name), Outside: true})
				}
			}
		}
	}
}

// opens adds the files that code has as texts.
func (s *start) opens(text string, f source) {
	for _, m := range opened().FindAllStringSubmatch(text, -1) {
		dir := path.Dir(f.name)
		for _, name := range []string{s.local(dir, m[1]), s.local(".", m[1])} {
			if name != "" && name != f.name && !slices.Contains(s.tests, name) {
				s.add(Ran{Path: name, From: f.top, Outside: outside(name, dir)})
				s.open(name, path.Dir(name))
			}
		}
	}
}

// paths adds the folders that Python code puts first on the path: those that it names, in its own
// folder or in the root.
func (s *start) paths(text, dir string) {
	for _, line := range pathInsert().FindAllString(text, -1) {
		s.first(dir)
		for _, m := range literal().FindAllStringSubmatch(line, -1) {
			s.first(s.local(dir, m[1]))
			s.first(s.local(".", m[1]))
		}
	}
}

// topFolder returns the first folder of a path, or "".
func topFolder(name string) string {
	if top, _, nested := strings.Cut(name, "/"); nested {
		return top
	}
	return ""
}

// runs adds the plugins of pytest, and the scripts and modules, that a text names which is no script
// of a shell. Its other words may be names of the code under test, and it may run that too. If the
// text has commands, a path that begins with a dot is a script.
func (s *start) runs(text, dir string, commands bool) {
	text = argument().ReplaceAllString(text, " ")
	for _, m := range plugins().FindAllStringSubmatch(text, -1) {
		s.plugin(dir, cmp.Or(m[1], m[2]))
	}
	for _, at := range slices.Compact([]string{dir, "."}) {
		for _, m := range led().FindAllStringSubmatch(text, -1) {
			if name := path.Join(at, cmp.Or(m[1], m[2], m[3])); m[1] != "" || commands {
				s.add(Ran{Path: name, From: topFolder(name)})
				s.open(name, path.Dir(name))
			}
		}
		for _, m := range pythonRun().FindAllStringSubmatch(marks().ReplaceAllString(text, "$1"), -1) {
			name := path.Join(at, strings.ReplaceAll(m[1], ".", "/"))
			s.add(Ran{Path: name, Module: true, From: cmp.Or(topFolder(name), name)})
			s.openModule(name, at)
		}
	}
}

// required adds what the runners of other languages load before the tests.
func (s *start) required(text, dir string) {
	text = strings.ReplaceAll(text, "<rootDir>", ".")
	for _, m := range required().FindAllStringSubmatch(text, -1) {
		for _, word := range words(strings.Trim(m[1], "[]{}")) {
			if strings.ContainsAny(word, "/.") {
				s.script(s.local(dir, word))
				continue
			}
			tops := []string{"spec", "lib"} // Ruby's
			for _, m := range includes().FindAllStringSubmatch(text, -1) {
				tops = append(tops, m[1])
			}
			for _, top := range tops {
				s.script(path.Join(dir, top, strings.ReplaceAll(word, "::", "/")))
			}
		}
	}
}

// script adds a file whose extension may be left out.
func (s *start) script(name string) {
	if name != "" && !slices.Contains(s.tests, name) {
		s.add(Ran{Path: strings.TrimSuffix(name, path.Ext(name)), Module: true})
		s.openCode(name)
	}
}

func (s *start) openCode(name string) {
	s.open(name, path.Dir(name))
	if path.Ext(name) == "" {
		for _, end := range []string{".js", ".cjs", ".mjs", ".ts", ".rb", ".php", "/index.js", "/__main__.py"} {
			s.open(name+end, path.Dir(name+end))
		}
	}
}

// sections examines the scripts of a package.json or composer.json that the commands name, and
// returns its other parts that are about tests. Others name the code.
func (s *start) sections(text, dir string) string {
	var all map[string]json.RawMessage
	var scripts map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &all) != nil {
		return ""
	}
	_ = json.Unmarshal(all["scripts"], &scripts) // other forms have none
	for named := true; named; {
		named = false
		for _, name := range slices.Sorted(maps.Keys(scripts)) {
			plain := strings.TrimPrefix(strings.TrimPrefix(name, "pre"), "post")
			if list := words(s.text); slices.Contains(list, name) || slices.Contains(list, plain) {
				s.command("cd "+dir+"\n"+string(scripts[name]), ".")
				delete(scripts, name)
				named = true
			}
		}
	}
	var b strings.Builder
	for _, name := range []string{"jest", "mocha", "ava", "tap", "nyc", "autoload-dev"} {
		b.Write(all[name])
		b.WriteByte('\n')
	}
	return b.String()
}

// bound returns the modules that Python code imports as name, or from which it imports it.
func bound(text, name string) []string {
	var list []string
	for _, m := range importAll().FindAllStringSubmatch(text, -1) {
		for part := range strings.SplitSeq(m[1], ",") {
			module, as, renamed := strings.Cut(strings.TrimSpace(part), " as ")
			if first, _, _ := strings.Cut(module, "."); renamed && as == name || !renamed && first == name {
				list = append(list, module)
			}
		}
	}
	for _, m := range importFrom().FindAllStringSubmatch(text, -1) {
		if members := identifier().FindAllString(m[2], -1); slices.Contains(members, name) {
			list = append(list, m[1])
			for _, member := range members {
				list = append(list, strings.TrimSuffix(m[1], ".")+"."+member)
			}
		}
	}
	return list
}

// plugin adds a plugin that a conftest.py or setting in dir names.
func (s *start) plugin(dir, name string) {
	for strings.HasPrefix(name, ".") {
		if name = name[1:]; strings.HasPrefix(name, ".") {
			dir = path.Dir(dir)
		}
	}
	for _, top := range pluginTops(dir) {
		s.module(top, name)
	}
}

// pluginTops are the folders in which the module of a plugin may be.
func pluginTops(dir string) []string { return []string{dir, ".", "src", "lib"} }

var (
	importFrom = lazy.Regexp(`(?m)(?:^|[;"':])\s*from\s+(\.*[\w.]*)\s+import\s+(\([^)]*\)|[^\n;"'#]*)`)
	importAll  = lazy.Regexp(`(?m)(?:^|[;"':])\s*import\s+([\w., ]+)`)
	identifier = lazy.Regexp(`[A-Za-z_]\w*`)
)

// outside reports whether a module is neither in the folder of the file that imports it, nor in one
// below it that is not the root's.
func outside(file, dir string) bool {
	if dir == "." {
		return strings.Contains(file, "/")
	}
	return !strings.HasPrefix(file, dir+"/")
}

// imports adds what a Python script imports from the folder that comes first on its path, or from
// its own package. Modules of other folders are more likely the code under test.
func (s *start) imports(text, top, dir string, inCommand bool) {
	add := func(at, name string) {
		file := path.Join(at, strings.ReplaceAll(name, ".", "/"))
		if file != at {
			s.add(Ran{Path: file, Module: true, From: top, Outside: !inCommand && outside(file, dir)})
			for parent := path.Dir(file); parent != at && parent != "." && parent != "/"; parent = path.Dir(parent) {
				s.add(Ran{Path: parent + "/__init__", Module: true, From: top, Outside: !inCommand && outside(parent+"/x", dir)})
			}
			if inside := strings.HasPrefix(file, dir+"/"); !inCommand && (inside || !strings.Contains(strings.TrimPrefix(file, top+"/"), "/")) {
				s.openModule(file, top)
			}
		}
	}
	both := func(name string) {
		add(top, name)
		if file := strings.ReplaceAll(name, ".", "/"); dir != "." && strings.HasPrefix(file, dir+"/") {
			add(".", name) // the script puts the root of the repository on the path
		}
	}
	for _, m := range importAll().FindAllStringSubmatch(text, -1) {
		for name := range strings.SplitSeq(m[1], ",") {
			if name, _, _ = strings.Cut(strings.TrimSpace(name), " "); name != "" {
				both(name)
			}
		}
	}
	for _, m := range importFrom().FindAllStringSubmatch(text, -1) {
		name, at := m[1], dir
		if strings.HasPrefix(name, ".") {
			for name = name[1:]; strings.HasPrefix(name, "."); name = name[1:] {
				at = path.Dir(at)
			}
			add(at, name)
			for _, member := range identifier().FindAllString(m[2], -1) {
				add(path.Join(at, strings.ReplaceAll(name, ".", "/")), member)
			}
			continue
		}
		both(name)
		for _, member := range identifier().FindAllString(m[2], -1) {
			both(name + "." + member)
		}
	}
}
