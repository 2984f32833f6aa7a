package docker_test

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/docker/docker/pkg/stdcopy"

	"batch.example/batch/docker/containers"
	"batch.example/batch/internal/boxinit/wire"
	"batch.example/batch/internal/tier"
)

// frames are how many each side has sent, without the pings.
type frames struct {
	runner, init atomic.Int64
	attached     sync.WaitGroup
}

// A command costs one frame there and one back, and one more for each part of its output.
func TestACommandTakesFewFrames(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	program := filepath.Join(t.TempDir(), "init")
	if err := os.WriteFile(program, helper(t, runtime.GOARCH), 0o700); err != nil {
		t.Fatal(err)
	}
	const rounds = 5
	for name, want := range map[string]struct {
		script       string
		runner, init int64 // for one command
	}{
		"without output": {"true", 1, 1},
		"with output":    {"echo x; echo y", 1, 2},
		"with much":      {"head -c 200000 /dev/zero", 1, 3},
	} {
		t.Run(name, func(t *testing.T) {
			s, sent := newEngineStub(t), &frames{}
			s.say("POST /containers/*/attach", func(w http.ResponseWriter, _ *http.Request) { sent.attach(t, program, w) })
			c, err := s.connect(t, time.Hour).Attach(t.Context(), stubBox)
			if err != nil {
				t.Fatal(err)
			}
			defer sent.attached.Wait()
			defer c.Close()
			for range rounds {
				runCommand(t, c, containers.Command{Script: want.script, Ahead: true, Timeout: enough})
			}
			c.Close()
			sent.attached.Wait() // for the last ones to be counted
			if n := sent.runner.Load(); n != rounds*want.runner {
				t.Errorf("%d commands took %d frames to the helper, want %d", rounds, n, rounds*want.runner)
			}
			if n := sent.init.Load(); n != rounds*want.init {
				t.Errorf("%d commands took %d frames from the helper, want %d", rounds, n, rounds*want.init)
			}
		})
	}
}

// attach acts as the stub's container, in which the helper runs as a process of this machine.
func (f *frames) attach(t *testing.T, program string, w http.ResponseWriter) {
	f.attached.Add(1)
	defer f.attached.Done()
	conn, err := hijack(w)
	if err != nil {
		return
	}
	defer conn.Close()
	box := exec.CommandContext(t.Context(), program)
	stdin, _ := box.StdinPipe()
	stdout, _ := box.StdoutPipe()
	if err := box.Start(); err != nil {
		t.Error(err)
		return
	}
	var key wire.Key // the stub's
	_, _ = stdin.Write(key[:])
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		count(&f.init, wire.NewReader(io.TeeReader(stdout, stdcopy.NewStdWriter(conn, stdcopy.Stdout)), key, wire.Init))
	}()
	count(&f.runner, wire.NewReader(io.TeeReader(conn, stdin), key, wire.Runner))
	_ = box.Process.Kill()
	<-ended
	_ = box.Wait()
}

// count counts frames until the stream ends.
func count(n *atomic.Int64, in *wire.Reader) {
	for {
		f, began, err := in.Next()
		var m wire.Welcome // a Hello begins like it
		switch {
		case err != nil:
			return
		case began && wire.Decode(f.Data, &m) == nil:
			in.Begin(m.Connection)
		case f.Kind != wire.KindRenew && f.Kind != wire.KindAlive:
			n.Add(1)
		}
	}
}
