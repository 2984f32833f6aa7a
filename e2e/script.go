package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"batch.example/batch/e2e/scripttest"
	"batch.example/batch/internal/registrytest"
)

// Scripts runs the scripts of a package: see [scripttest.Run]. They also have
//
//	keep DIR       [Keep] until the script ends
//	registry FILE  starts a registry with one image, sets REGISTRY to its address, and writes a
//	               dataset of one instance that needs the image
//	demo DIR       makes DIR the demo's sweep: see [DemoRun]
//	make FILE FILTER...  waits for a container that passes filters of docker ps, and makes a file in it: see [MakeIn]
func Scripts(t *testing.T) {
	Program(t)
	scripttest.Run(t, scripttest.Params{
		Commands: map[string]scripttest.Command{"keep": keepCommand, "registry": registryCommand(t), "demo": demoCommand(t), "make": makeCommand},
		Docker:   func() bool { return DockerReady(t) == nil },
	})
}

func keepCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: keep DIR")
	}
	ts.Defer(Keep(ts.MkAbs(args[0])))
}

func registryCommand(t *testing.T) scripttest.Command {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: registry FILE")
		}
		r := registrytest.NewStub(t)
		ts.Setenv("REGISTRY", r.Host())
		row := fmt.Sprintf(`{"instance_id":"thing__1","problem_statement":"p","image_name":%q}`+"\n", r.Ref())
		ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(row), 0o600))
		ts.Defer(func() { RemoveImage(t, r.Ref()) })
	}
}

func demoCommand(t *testing.T) scripttest.Command {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: demo DIR")
		}
		DemoRun(t, ts.MkAbs(args[0]))
	}
}

func makeCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: make FILE FILTER...")
	}
	list := []string{"ps", "-q"}
	for _, filter := range args[1:] {
		list = append(list, "--filter", filter)
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	for {
		ids, err := exec.CommandContext(ctx, "docker", list...).Output()
		ts.Check(err)
		if id, _, _ := strings.Cut(strings.TrimSpace(string(ids)), "\n"); id != "" {
			if err := MakeIn(ctx, id, args[0]); err == nil {
				return
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
}
