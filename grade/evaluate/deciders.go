package evaluate

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"batch.example/batch/grade"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/vocab"
)

// Rules is the version of this package's rules for deciders. It changes whenever a patch could get
// another verdict.
const Rules = 6

// Tier says what else a decider is used for.
type Tier int

const (
	// TierRunner: only the running of tests reads the file, such as conftest.py.
	TierRunner Tier = 1
	// TierProject: the file is not only for running tests, such as setup.cfg or one of the patch's
	// own tests.
	TierProject Tier = 2
)

// Decider is a file of a patch that can determine the reported results without being tested.
type Decider struct {
	Path string
	Tier Tier
	Why  string // for a person: "pytest runs it before the tests"
}

// Deciders returns the files among changes that can determine the reported results, in order.
// changes and job.Ran come from a run of the job. Files that are put back before the tests are no
// deciders. A file that the gold patch changes too is one if the patch changes it in another way,
// since a run without it has it as the gold patch makes it; without a patch to compare, it is none.
//
// Code under test can do the same from within the tests' process, but is not a decider: see
// [Doubts].
func Deciders(job Job, changes []Change) []Decider {
	exempt := slices.Clone(job.TestFiles)
	for _, a := range job.Assets {
		exempt = append(exempt, path.Clean(a.Path))
	}
	gold := Paths(job.Gold)
	for _, name := range gold {
		if p := only(job.Gold, name); p == nil || len(job.Patch) == 0 || bytes.Contains(job.Patch, p.raw) {
			exempt = append(exempt, name)
		}
	}
	ran := job.Ran
	if ran == nil {
		s := newStart(cmp.Or(job.Workdir, testbed), job.TestFiles)
		s.command(job.command(), ".")
		ran = s.ran
	}
	all := runsAll(job.command(), job.TestFiles)
	var list []Decider
	for _, c := range changes {
		if slices.Contains(exempt, c.Path) {
			continue
		}
		tier, why := decides(c.Path, c.Created)
		if tier != TierRunner && c.Shadows {
			tier, why = TierRunner, shadowText
		}
		if tier != TierRunner {
			by := slices.DeleteFunc(slices.Clone(ran), func(r Ran) bool { return !r.decides(c, gold) })
			switch {
			case slices.ContainsFunc(by, func(r Ran) bool { return !r.Outside }):
				tier, why = TierRunner, "the test command runs it"
			case len(by) > 0 && tier == 0:
				tier, why = TierProject, "what the test command runs imports it"
			}
		}
		if tier == 0 && c.Link { // the link stands for the folder behind it
			tier, why = decides(c.Path+"/_", c.Created)
		}
		if tier == 0 && all && isTest().MatchString(path.Base(c.Path)) {
			tier, why = TierProject, "the test command may run it"
		}
		if tier > 0 {
			list = append(list, Decider{c.Path, tier, why})
		}
	}
	return list
}

// Named returns the changes that a patch names, for use without a tree to compare. It is a guess,
// for a note to a person.
func Named(patch []byte) []Change {
	var list []Change
	for _, p := range split(patch) {
		for _, name := range slices.Concat(p.paths(), p.others()) {
			if !slices.ContainsFunc(list, func(c Change) bool { return c.Path == name }) {
				list = append(list, Change{Path: name, Created: p.fresh, Link: p.Symlink && name == p.to})
			}
		}
	}
	return list
}

// decides says whether a file determines reported results; tier 0: it does not.
func decides(name string, created bool) (Tier, string) {
	base := path.Base(name)
	for _, r := range byName {
		if r.match().MatchString(base) {
			return r.tier, r.why
		}
	}
	for _, r := range byPath {
		if r.match().MatchString(name) {
			return r.tier, r.why
		}
	}
	if created && shadows(name) {
		return TierRunner, shadowText
	}
	if inTests().MatchString(name) && !strings.Contains(name, "src/main/") && !isTest().MatchString(base) && !isText().MatchString(base) {
		tier := TierRunner
		if shipped().MatchString(name) {
			tier = TierProject
		}
		return tier, "tests use it"
	}
	return 0, ""
}

type rule struct {
	match func() *regexp.Regexp
	tier  Tier
	why   string
}

func names(tier Tier, why string, patterns ...string) rule {
	return rule{lazy.Regexp(`^(?:` + strings.Join(patterns, "|") + `)$`), tier, why}
}

// byName has the rules for the last part of a path.
var byName = []rule{
	names(TierRunner, "pytest runs it before the tests", `conftest\.py`),
	names(TierRunner, "Python runs it whenever it starts", `sitecustomize\.py`, `usercustomize\.py`, `.*\.pth`),
	names(TierRunner, "it configures the Python test runner",
		`\.?pytest\.(ini|toml)`, `tox\.(ini|toml)`, `\.coveragerc`, `\.?nose\.cfg`, `\.noserc`, `noxfile\.py`, `runtests\.py`, `\.s?testr?\.conf`, `nose2\.cfg`, `unittest\.cfg`),
	names(TierRunner, "it configures the JavaScript test runner",
		`jest[.-].*`, `karma\..*`, `vitest\..*`, `\.mocharc.*`, `mocha\.opts`, `\.nycrc.*`, `ava\.config\..*`, `cypress\..*`, `setupTests\..*`, `bunfig\.toml`, `\.taprc`, `\.swcrc`,
		`playwright\.config\..*`, `\.?jasmine.*\.(js|cjs|mjs|ts|json)`, `wdio\..*`, `testem\..*`),
	names(TierRunner, "it configures the test runner", `phpunit\.xml.*`, `\.rspec.*`, `\.simplecov`, `(spec|test|rails)_helper\.rb`, `cucumber\.ya?ml`,
		`junit-platform\.properties`, `testng.*\.xml`, `CTestTestfile\.cmake`, `nextest\.toml`, `\.proverc`),
	names(TierRunner, "go test compiles it into the tests", `.*_test\.go`),
	names(TierRunner, "it is compiled code, which can run in place of its source",
		`.*\.(py[cod]|so|dylib|dll|class|jar|war|whl|node|wasm|beam|o|a|rlib|rmeta|exe|phar|gem)`, `.*\.so\.[0-9.]+`),
	names(TierProject, "it configures the project and its tests",
		`setup\.(cfg|py)`, `pyproject\.toml`, `Pipfile.*`, `requirements.*\.txt`, `package(-lock)?\.json`, `npm-shrinkwrap\.json`, `yarn\.lock`,
		`pnpm-.*\.yaml`, `\.npmrc`, `\.yarnrc.*`, `\.pnp\..*`, `\.?babel.*`, `tsconfig.*\.json`, `(vite|webpack|rollup)\..*`, `[Gg]runtfile\..*`, `[Gg]ulpfile.*`,
		`versioneer\.py`, `composer\.(json|lock)`, `Directory\.Build\..*`, `.*\.csproj`, `build\.sbt`, `mix\.exs`, `Gemfile.*`, `Rakefile`, `.*\.gemspec`, `.*\.rake`),
	names(TierProject, "it builds the project and its tests",
		`(GNU)?[Mm]akefile.*`, `.*\.mk`, `CMakeLists\.txt`, `.*\.cmake`, `configure(\.ac)?`, `meson\.build`, `pom\.xml`, `build\.xml`, `.*\.gradle(\.kts)?`,
		`gradle.*\.properties`, `gradlew.*`, `mvnw.*`, `Cargo\.(toml|lock)`, `build\.rs`, `rust-toolchain.*`, `go\.(mod|sum|work)`),
	names(TierProject, "git changes files by it", `\.gitattributes`, `\.gitmodules`),
	names(TierProject, "shells read it when they start", `\.(bashrc|bash_profile|bash_env|profile|zshrc|envrc|env)`),
}

// byPath has the rules for whole paths.
var byPath = []rule{
	{lazy.Regexp(`(^|/)(node_modules|bower_components|vendor|site-packages|dist-packages|\.tox|\.nox|\.venv|venv)/`), TierRunner, "it is part of an installed package"},
	{lazy.Regexp(`\.(egg-info|dist-info|egg)(/|$)|\.egg-link$`), TierRunner, "it describes an installed package, which can be a plugin of the test runner"},
	{lazy.Regexp(`(^|/)META-INF/services/(org\.junit|junit|org\.testng|org\.spockframework)\.`), TierRunner, "the test runner loads what it names"},
	{lazy.Regexp(`(^|/)__mocks__/|(^|/)lib/minitest/.*_plugin\.rb$|(^|/)java/(org/(junit|testng|hamcrest|mockito|assertj)|junit)/`), TierRunner, "the test runner loads it"},
	{lazy.Regexp(`(^|/)_testing(/|\.py$)|(^|/)testing\.py$`), TierProject, "tests use it"},
	{lazy.Regexp(`(^|/)(\.(cargo|mvn|jest|mocha|github)|buildSrc)/`), TierProject, "it configures the build"},
	{lazy.Regexp(`(^|/)django/test/(runner|utils|testcases)\.py$|(^|/)sympy/(testing|utilities)/(runtests|pytest)\.py$`), TierProject, "it is the project's own test runner"},
}

var (
	inTests = lazy.Regexp(`^(t|specs?)/|(^|/)(tests?|testing|__tests__|testdata|test-utils|test_utils|testutils?|[a-z]*/spec)/`)
	// shipped matches code that a project offers for the tests of others, such as
	// django/test/client.py: a solution may change it.
	shipped = lazy.Regexp(`^[^/]+/(.+/)?(test|testing)/`)
	// isTest matches files that only run if the test command names them.
	isTest = lazy.Regexp(`^tests?\.[a-z]+$|^[Tt]est|[_.-](test|tests|spec)\.[a-z]+$|Tests?\.[a-z]+$|\.(t|snap|expected|out|golden)$`)
	isText = lazy.Regexp(`(?i)\.(md|rst|txt|html?|css|csv|png|jpe?g|gif|svg|pdf|json|ya?ml|xml|po|mo|fits|dat|gz|zip)$`)
)

// runnerModules are imported by Python's test runners: Python's own modules, and pytest's. A new
// file or folder with such a name takes their place if tests are run from its folder.
var runnerModules = strings.Fields(`
	pytest _pytest py pluggy iniconfig nose tox xdist coverage hypothesis mock exceptiongroup packaging attr abc
	aifc argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii bisect builtins bz2
	cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys compileall concurrent
	configparser contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses datetime dbm decimal
	difflib dis distutils doctest email encodings ensurepip enum errno faulthandler fcntl filecmp fileinput
	fnmatch fractions ftplib functools gc getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html
	http imaplib imghdr imp importlib inspect io ipaddress itertools json keyword linecache locale logging lzma
	mailbox mailcap marshal math mimetypes mmap modulefinder multiprocessing netrc nis nntplib numbers operator
	optparse os ossaudiodev pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath
	pprint profile pstats pty pwd py_compile pyclbr pydoc pyexpat queue quopri random re readline reprlib resource
	rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket
	socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep struct
	subprocess sunau symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios textwrap threading
	time timeit token tokenize tomllib trace traceback tracemalloc tty types typing unicodedata unittest urllib uu
	uuid venv warnings wave weakref webbrowser wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib zoneinfo`)

const shadowText = "Python imports it before the tests, or instead of a module that their runner may need"

func shadows(name string) bool {
	top, _ := importable(name, nil)
	return slices.Contains(runnerModules, top)
}

// runsAll reports whether a test command may run tests that it does not name: it names none of the
// tests, or the tests are unknown.
func runsAll(command string, tests []string) bool {
	return !slices.ContainsFunc(tests, func(name string) bool {
		stem, _, _ := strings.Cut(path.Base(name), ".")
		return stem != "" && strings.Contains(command, stem)
	})
}

// Step is the next step towards a verdict: another run, or the result.
type Step struct {
	// Run requests one more run in another fresh container, with [Job.Without] set to Without. Again
	// says that it repeats an earlier run, whose log must not be used for it.
	Run     bool
	Again   bool
	Without []string
	// Resolved, Suspicious and Note are the result, if Run is false.
	Resolved   bool
	Why        string // if a decider is the reason for not resolving
	Suspicious []string
	Note       string // why it is not known what the deciders do
}

// Decide returns the next step after the judgements so far. The first judges the whole patch; each
// further one judges the run that the previous Step requested. It is the zero Judgement if that run
// has none. A run that failed because of infrastructure does not count: it is repeated.
//
// Deciders are the reason for a result if FAIL_TO_PASS fails without them and passes with them, and
// does so twice: tests can fail by chance. A run without them that does not end says nothing. A
// patch that needs a decider of TierRunner does not resolve the instance, since only what the tests
// report has changed. If it needs a decider of TierProject, it resolves the instance, as in the
// official harness, but is suspicious.
func Decide(deciders []Decider, judged ...grade.Judgement) Step {
	first, later := judged[0], judged[1:]
	done := Step{Resolved: first.Resolved, Suspicious: slices.Clone(first.Suspicious)}
	if !first.Resolved || len(deciders) == 0 {
		return done
	}
	runner, project := ofTier(deciders, TierRunner), ofTier(deciders, TierProject)
	all, both := slices.Concat(runner, project), len(runner) > 0 && len(project) > 0
	runs := []Step{{Without: all}}
	if both {
		runs = append(runs, Step{Without: runner})
	}
	reason, repeated := project, all
	ofRunner := len(project) == 0 || both && len(later) > 1 && !passes(later[1])
	if ofRunner {
		reason, repeated = runner, runner
	}
	runs = append(runs, Step{Without: repeated, Again: true}, Step{Again: true})
	for i, run := range runs {
		if i == len(later) {
			run.Run = true
			return run
		}
		if later[i].Verdict == vocab.VerdictTimedOut {
			done.Note = fmt.Sprintf("whether it is resolved without %s of the patch is not known: the tests did not end in time", list(reason))
			return done
		}
		// The second run of both tiers only tells which of them is the reason.
		if with := len(run.Without) == 0; passes(later[i]) != with && !(both && i == 1) {
			return done
		}
	}
	done.Suspicious = append(done.Suspicious, "resolved only with "+list(reason)+" of the patch")
	if ofRunner {
		done.Resolved = false
		done.Why = fmt.Sprintf("resolved only with %s of the patch, which decides what tests report", list(reason))
	}
	return done
}

// passes reports whether FAIL_TO_PASS passes. Other tests may fail by chance.
func passes(j grade.Judgement) bool {
	t := j.Tests.FailToPass
	return j.Resolved || len(t.Success) > 0 && len(t.Failure) == 0
}

func ofTier(deciders []Decider, t Tier) []string {
	var paths []string
	for _, d := range deciders {
		if d.Tier == t {
			paths = append(paths, d.Path)
		}
	}
	return paths
}

// list formats paths for a person.
func list(paths []string) string {
	const most = 5
	if len(paths) > most {
		return fmt.Sprintf("%s and %d more files", strings.Join(paths[:most], ", "), len(paths)-most)
	}
	return strings.Join(paths, ", ")
}
