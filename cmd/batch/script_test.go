package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"batch.example/batch/dataset/demo"
	"batch.example/batch/docker"

	"batch.example/batch/dataset"
	"batch.example/batch/internal/registrytest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"batch": main, "provider": provider})
}

// TestScripts runs testdata/script: each file is one session at a prompt.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "refused": refused, "await": await, "keep": keep, "registry": registryCommand(t),
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("HF_HUB_OFFLINE", "1")
			if shared, err := filepath.Abs(filepath.Join("..", "..", "..", "shared", "data")); err == nil {
				env.Setenv("SHARED", shared)
			}
			for _, name := range []string{"DOCKER_HOST", "DOCKER_CONTEXT"} {
				if v := os.Getenv(name); v != "" {
					env.Setenv(name, v)
				}
			}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "docker":
				return dockerReady(t) == nil, nil
			case "shared":
				_, err := os.Stat(filepath.Join("..", "..", "..", "shared", "data"))
				return err == nil, nil
			}
			return false, errors.New("unknown condition")
		},
	})
}

// exits runs a command and compares its exit code: exits 2 batch run ...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// registryCommand starts a registry with one image and writes a dataset of one
// instance that needs it: registry rows.jsonl. REGISTRY is then its address.
func registryCommand(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: registry FILE")
		}
		r := registrytest.NewStub(t)
		ts.Setenv("REGISTRY", r.Host())
		row := fmt.Sprintf(`{"instance_id":"thing__1","problem_statement":"p","image_name":%q}`+"\n", r.Ref())
		ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(row), 0o600))
		ts.Defer(func() { removeImage(t, r.Ref()) })
	}
}

// removeImage removes an image from the engine.
func removeImage(t testing.TB, ref string) {
	engine, err := docker.Connect(context.Background(), docker.FromEnv(os.Getenv, ""))
	if err != nil {
		t.Error(err)
		return
	}
	defer engine.Close()
	if err := engine.RemoveImage(context.Background(), ref); err != nil {
		t.Error(err)
	}
}

// await repeats a line of bash until it succeeds: await 'grep -q x file'
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await 'BASH'")
	}
	for end := time.Now().Add(5 * time.Minute); ts.Exec("bash", "-c", args[0]) != nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("did not succeed in time: %s", args[0])
		}
	}
}

// dockerReady returns nil when the engine is reachable and has the demo's
// images. BATCH_DOCKER=require turns their absence into a failure.
func dockerReady(t testing.TB) error {
	t.Helper()
	err := haveDemoImages(t.Context())
	if err != nil && os.Getenv("BATCH_DOCKER") == "require" {
		t.Fatalf("BATCH_DOCKER=require: %v", err)
	}
	return err
}

func haveDemoImages(ctx context.Context) error {
	home, _ := os.UserHomeDir()
	engine, err := docker.Connect(ctx, docker.FromEnv(os.Getenv, home))
	if err != nil {
		return err
	}
	defer engine.Close()
	ds, err := dataset.Open(ctx, dataset.Source{Name: "demo", Demo: demo.Files()})
	if err != nil {
		return err
	}
	for _, in := range ds.Instances {
		if _, here, err := engine.Image(ctx, in.ImageName(""), ""); err != nil || !here {
			return errors.Join(errors.New("the demo's images are not built: run scripts/demo-images"), err)
		}
	}
	return nil
}

// needDocker skips a test where there is no engine with the demo's images.
func needDocker(t testing.TB) {
	t.Helper()
	if err := dockerReady(t); err != nil {
		t.Skipf("no Docker: %v", err)
	}
}
