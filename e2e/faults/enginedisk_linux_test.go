package faults

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/enginetest"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm/stub"
	"batch.example/batch/vocab"
)

// smallEngine is an engine of the test's own with a small disk, and a run on it.
type smallEngine struct {
	*testing.T
	disk, dir, address string
	server             *stub.Server
}

// newSmallEngine starts an engine. If its disk is not seen, batch reaches it as it reaches an engine on
// another machine.
func newSmallEngine(t *testing.T, instances int, seen bool, reply func(int, *stub.Request) stub.Answer) *smallEngine {
	u := &smallEngine{T: t, disk: filepath.Join(t.TempDir(), "disk"), dir: t.TempDir()}
	smallDisk(t, u.disk, 400<<20)
	d := e2e.OwnEngine(t, "--data-root", filepath.Join(u.disk, "data"))
	if u.address = d.Host(); !seen {
		u.address = overNetwork(t, d)
	}
	rows := ""
	for i := range instances {
		rows += fmt.Sprintf(`{"instance_id":"small__%d","problem_statement":"task %d.","image_name":%q}`+"\n", i, i, e2e.OwnImage)
	}
	if err := os.WriteFile(filepath.Join(u.dir, "rows.jsonl"), []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	u.server = stub.NewServerFunc(t, reply)
	return u
}

// overNetwork returns an address at which the engine is reached by TCP.
func overNetwork(t *testing.T, d *enginetest.Daemon) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("unix", strings.TrimPrefix(d.Host(), "unix://"))
			if err != nil {
				_ = from.Close()
				continue
			}
			for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
				go func() {
					_, _ = io.Copy(pair[0], pair[1]) // until one end closes
					if half, ok := pair[0].(interface{ CloseWrite() error }); ok {
						_ = half.CloseWrite()
					}
				}()
			}
		}
	}()
	return "tcp://" + l.Addr().String()
}

func (u *smallEngine) run() (code int, said string) {
	cmd := e2e.Batch(u, u.dir, "run", "--subset", "rows.jsonl", "-m", "openai/stub-1", "-o", "out", "-w", "3", "-q",
		"--engine", u.address, "-c", "environment.cwd=/testbed")
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+u.server.URL, "OPENAI_API_KEY=none-needed")
	return e2e.ExitCode(u, cmd)
}

const submitSolution = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; cat /testbed/solution.txt"

// No model reads that the engine's disk is full, and nothing that could not be written is submitted.
// With space again, the attempts continue, and no reply is paid for twice.
func TestAnEngineWithoutSpaceIsNoFailureOfTheAgent(t *testing.T) {
	tier.Rest(t, "sandbox", "docker/containers", "attempt/*.go")
	t.Parallel()
	for name, seen := range map[string]bool{"its disk is seen": true, "its disk is not seen": false} {
		for write, command := range map[string]string{
			"a command says so": "for i in {1..30000}; do echo $i; done > /testbed/solution.txt",
			"nothing says so":   "for i in {1..30000}; do echo $i; done > /testbed/solution.txt 2>/dev/null",
		} {
			t.Run(name+" and "+write, func(t *testing.T) {
				t.Parallel()
				var u *smallEngine
				var once sync.Once
				var all sync.WaitGroup
				all.Add(3)
				began := sync.Map{}
				u = newSmallEngine(t, 3, seen, func(_ int, r *stub.Request) stub.Answer {
					switch r.Replies() {
					case 0:
						return stub.Bash("echo looking")
					case 1:
						if _, again := began.LoadOrStore(r.Task(), true); !again {
							all.Done()
						}
						all.Wait()
						once.Do(func() {
							if err := fill(filepath.Join(u.disk, "filler")); err != nil {
								t.Error(err)
							}
						})
						return stub.Bash(command)
					}
					return stub.Bash(submitSolution)
				})
				code, said := u.run()
				if code == 0 || !strings.Contains(said, "disk") {
					t.Errorf("exit code %d, want another and the reason\n%s", code, said)
				}
				for id, patch := range e2e.Predictions(t, filepath.Join(u.dir, "out")) {
					t.Errorf("%s has a patch of %d bytes while the disk was full", id, len(patch))
				}
				if err := os.Remove(filepath.Join(u.disk, "filler")); err != nil {
					t.Fatal(err)
				}
				if code, said = u.run(); code != 0 {
					t.Errorf("with space again: exit code %d\n%s", code, said)
				}
				patches := e2e.Predictions(t, filepath.Join(u.dir, "out"))
				for id, patch := range patches {
					if !strings.HasSuffix(patch, "\n30000\n") {
						t.Errorf("%s: a patch of %d bytes that ends in %q", id, len(patch), patch[max(0, len(patch)-20):])
					}
				}
				if n := len(u.server.Requests()); len(patches) != 3 || n != 9 {
					t.Errorf("%d patches after %d calls, want 3 after 9", len(patches), n)
				}
			})
		}
	}
}

// An agent that fills the disk by itself reads so, and is judged by what it submits.
func TestAnAgentThatFillsTheEnginesDiskReadsSo(t *testing.T) {
	tier.Rest(t, "sandbox", "docker/containers", "attempt/*.go")
	t.Parallel()
	for name, seen := range map[string]bool{"its disk is seen": true, "its disk is not seen": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newSmallEngine(t, 1, seen, func(_ int, r *stub.Request) stub.Answer {
				if r.Replies() == 0 {
					return stub.Bash("cat /dev/zero > /testbed/big; echo x > /testbed/solution.txt")
				}
				return stub.Bash(submitSolution)
			})
			code, said := u.run()
			r := e2e.Record(t, u.dir)
			if requests := u.server.Requests(); code != 0 || r.Outcome != vocab.OutcomeSubmitted || r.Resumed != 0 || len(requests) != 2 || !strings.Contains(fmt.Sprint(requests[1].Turns()), "No space left on device") {
				t.Errorf("exit code %d, %+v after %d calls\n%s", code, r, len(requests), said)
			}
		})
	}
}
