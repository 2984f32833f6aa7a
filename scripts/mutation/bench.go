package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

type verdict string

const (
	killed   verdict = "killed"
	survived verdict = "survived"
	broken   verdict = "not compiled"
)

// bench compiles and runs the tests of one package and its holders.
type bench struct {
	dir    string   // temporary
	root   string   // the module's
	suites []*suite // whose tests run, in this order

	needEngine int        // how many tests skip without an engine
	engine     sync.Mutex // one mutant at a time: two would see each other's containers
}

// suite is the tests of one package: all of them without an engine, or those
// that need one with one.
type suite struct {
	pkg     string
	env     []string
	timeout time.Duration
	tests   []string // those with an engine; nil is all, without
}

// newBench runs the tests once without a change: if they fail, no mutant can be
// distinguished from the original.
func newBench(ctx context.Context, s settings, name string) (*bench, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return nil, err
	}
	b := &bench{dir: dir, root: root}
	if err := b.begin(ctx, s, name); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// begin orders the suites: the package's own tests first, and the tests with an engine,
// which take longest, last.
func (b *bench) begin(ctx context.Context, s settings, name string) error {
	for _, pkg := range append([]string{name}, holders[name]...) {
		b.suites = append(b.suites, &suite{pkg: pkg, env: environment("")})
	}
	if s.engine != "" {
		tests, err := skipped(ctx, name)
		if err != nil {
			return err
		}
		b.needEngine = len(tests)
		if s.engineSkip != "" {
			unwanted, err := regexp.Compile(s.engineSkip)
			if err != nil {
				return err
			}
			tests = slices.DeleteFunc(tests, unwanted.MatchString)
		}
		if len(tests) > 0 {
			b.suites = append(b.suites, &suite{pkg: name, env: environment(s.engine), tests: tests})
		}
	}
	for _, suite := range b.suites {
		suite.timeout = max(s.timeout, 10*time.Minute)
		began := time.Now()
		if err := b.unchanged(ctx, suite); err != nil {
			return err
		}
		took := time.Since(began)
		suite.timeout = max(s.timeout, 2*took) // less would kill by itself
		if s.timeout == 0 {
			suite.timeout = max(leastTimeout, timesSlower*took)
		}
	}
	return nil
}

// unchanged returns an error if a suite fails without a mutant.
func (b *bench) unchanged(ctx context.Context, suite *suite) error {
	v, by, err := b.test(ctx, suite, b.dir, "")
	if err == nil && v != survived {
		err = fmt.Errorf("the tests of %s do not pass without a change: %s, %s", suite.pkg, v, by)
	}
	return err
}

// onEngine returns the tests that run with the engine.
func (b *bench) onEngine() []string { return b.suites[len(b.suites)-1].tests }

// end returns an error if the tests no longer pass on the engine: then mutants broke the
// engine, and the verdicts on others may be wrong.
func (b *bench) end(ctx context.Context) error {
	if b.onEngine() == nil {
		return nil
	}
	return b.unchanged(ctx, b.suites[len(b.suites)-1])
}

var skippedTest = regexp.MustCompile(`(?m)^\s*--- SKIP: ([^/\s]+)`)

// skipped returns the tests of a package that are skipped, completely or partly, without an
// engine.
func skipped(ctx context.Context, name string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-short", "-count=1", "-v", name)
	cmd.Env = environment("")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("the tests of %s do not pass without an engine: %w: %s", name, err, culprit(out))
	}
	var tests []string
	for _, m := range skippedTest.FindAllSubmatch(out, -1) {
		tests = append(tests, string(m[1]))
	}
	slices.Sort(tests)
	return slices.Compact(tests), nil
}

func (b *bench) close() { os.RemoveAll(b.dir) }

func (b *bench) relative(path string) string {
	if rel, err := filepath.Rel(b.root, path); err == nil {
		return rel
	}
	return path
}

// environment returns the caller's environment variables, without its engine.
func environment(engine string) []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "DOCKER_") || strings.HasPrefix(kv, "BATCH_")
	})
	if engine == "" {
		return append(env, "DOCKER_HOST=unix:///nowhere/docker.sock")
	}
	return append(env, "DOCKER_HOST="+engine, "BATCH_DOCKER=require")
}

// try returns the verdict on a mutant, and the test that killed it.
func (b *bench) try(ctx context.Context, m mutant) (verdict, string, error) {
	dir, err := os.MkdirTemp(b.dir, "")
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(dir)
	overlay, err := writeOverlay(dir, m)
	if err != nil {
		return "", "", err
	}
	for _, suite := range b.suites {
		if v, by, err := b.test(ctx, suite, dir, overlay); err != nil || v != survived {
			return v, by, err
		}
	}
	return survived, "", nil
}

func writeOverlay(dir string, m mutant) (string, error) {
	src, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, filepath.Base(m.file))
	if err := os.WriteFile(changed, m.apply(src), 0o644); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{m.file: changed}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o644)
}

// test compiles and runs the tests of one package. Programs that the tests build are
// compiled with the same overlay.
func (b *bench) test(ctx context.Context, suite *suite, dir, overlay string) (verdict, string, error) {
	flags := "-overlay=" + overlay
	binary := filepath.Join(dir, strings.ReplaceAll(filepath.Clean(suite.pkg), "/", "-")+".test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", flags, "-o", binary, suite.pkg)
	build.Env = suite.env
	if out, err := build.CombinedOutput(); err != nil {
		return broken, firstLine(out), ctx.Err()
	}
	tmp, err := os.MkdirTemp("", "m") // short: tests create sockets there, and the length of a socket's path is limited
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(tmp)
	args := []string{"-test.short", "-test.failfast", "-test.timeout=0"}
	if suite.tests != nil {
		b.engine.Lock()
		defer b.engine.Unlock()
		args = append(args, "-test.run=^("+strings.Join(suite.tests, "|")+")$")
	}
	ctx, cancel := context.WithTimeout(ctx, suite.timeout)
	defer cancel()
	var out bytes.Buffer
	run := exec.CommandContext(ctx, binary, args...)
	run.Dir = filepath.Join(b.root, suite.pkg)
	run.Env = append(slices.Clone(suite.env), "TMPDIR="+tmp, "GOFLAGS="+flags)
	run.Stdout, run.Stderr = &out, &out
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	run.Cancel = func() error { return syscall.Kill(-run.Process.Pid, syscall.SIGKILL) }
	run.WaitDelay = 5 * time.Second
	err = run.Run()
	if run.Process != nil {
		syscall.Kill(-run.Process.Pid, syscall.SIGKILL) // processes that it started and did not end
	}
	if err == nil {
		return survived, "", nil
	}
	if ctx.Err() != nil {
		return killed, "did not end", nil
	}
	return killed, culprit(out.Bytes()), nil
}

var failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^panic: (.*)$|^fatal error: (.*)$`)

// culprit names the first test that failed.
func culprit(out []byte) string {
	if m := failedTest.FindSubmatch(out); m != nil {
		return string(bytes.Join(m[1:], nil))
	}
	return firstLine(out)
}

func firstLine(out []byte) string {
	line, rest, _ := bytes.Cut(bytes.TrimSpace(out), []byte("\n"))
	if bytes.HasPrefix(line, []byte("# ")) {
		line, _, _ = bytes.Cut(rest, []byte("\n"))
	}
	return string(line)
}
