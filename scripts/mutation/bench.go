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
}

// suite is the tests of one package, with an engine or without.
type suite struct {
	pkg     string
	env     []string
	timeout time.Duration
}

// newBench runs the tests once without a change: where they fail, no mutant
// could be told from the rest.
func newBench(ctx context.Context, s settings, name string) (*bench, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return nil, err
	}
	b := &bench{dir: dir, root: root, suites: suitesOf(name, s.engine)}
	for _, suite := range b.suites {
		suite.timeout = max(s.timeout, 10*time.Minute)
		began := time.Now()
		v, by, err := b.test(ctx, suite, dir, "")
		if err == nil && v != survived {
			err = fmt.Errorf("the tests of %s do not pass without a change: %s, %s", suite.pkg, v, by)
		}
		if err != nil {
			b.close()
			return nil, err
		}
		suite.timeout = s.timeout
		if s.timeout == 0 {
			suite.timeout = max(leastTimeout, timesSlower*time.Since(began))
		}
	}
	return b, nil
}

// suitesOf has the package's own tests first, and those with an engine, which
// take the longest, last.
func suitesOf(name, engine string) []*suite {
	var list []*suite
	for _, pkg := range append([]string{name}, holders[name]...) {
		list = append(list, &suite{pkg: pkg, env: environment("")})
	}
	if engine != "" {
		list = append(list, &suite{pkg: name, env: environment(engine)})
	}
	return list
}

func (b *bench) close() { os.RemoveAll(b.dir) }

func (b *bench) relative(path string) string {
	if rel, err := filepath.Rel(b.root, path); err == nil {
		return rel
	}
	return path
}

// environment is the caller's, without its engine.
func environment(engine string) []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "DOCKER_") || strings.HasPrefix(kv, "BATCH_")
	})
	if engine == "" {
		return append(env, "DOCKER_HOST=unix:///nowhere/docker.sock")
	}
	return append(env, "DOCKER_HOST="+engine, "BATCH_DOCKER=require")
}

// try returns what became of a mutant, and the test that killed it.
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

// test compiles and runs one package's tests. Programs that these build are
// made with the same overlay.
func (b *bench) test(ctx context.Context, suite *suite, dir, overlay string) (verdict, string, error) {
	flags := "-overlay=" + overlay
	binary := filepath.Join(dir, strings.ReplaceAll(filepath.Clean(suite.pkg), "/", "-")+".test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", flags, "-o", binary, suite.pkg)
	build.Env = suite.env
	if out, err := build.CombinedOutput(); err != nil {
		return broken, firstLine(out), ctx.Err()
	}
	tmp, err := os.MkdirTemp(dir, "t")
	if err != nil {
		return "", "", err
	}
	ctx, cancel := context.WithTimeout(ctx, suite.timeout)
	defer cancel()
	var out bytes.Buffer
	run := exec.CommandContext(ctx, binary, "-test.short", "-test.failfast", "-test.timeout=0")
	run.Dir = filepath.Join(b.root, suite.pkg)
	run.Env = append(slices.Clone(suite.env), "TMPDIR="+tmp, "GOFLAGS="+flags)
	run.Stdout, run.Stderr = &out, &out
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	run.Cancel = func() error { return syscall.Kill(-run.Process.Pid, syscall.SIGKILL) }
	run.WaitDelay = 5 * time.Second
	err = run.Run()
	if run.Process != nil {
		syscall.Kill(-run.Process.Pid, syscall.SIGKILL) // what it started and left
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
