package runs

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"batch.example/batch/e2e"
)

// provider is a program that serves chat completions on loopback until its
// standard input ends; its first output line is its address. It answers at once, and
// always asks for the same command.
func provider() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("http://%s/v1\n", l.Addr())
	thought := strings.Repeat("Let me look at what the tests expect of this function. ", 5)
	var n atomic.Int64
	go func() {
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			answer := fmt.Appendf(nil, `{"id":"chatcmpl-%[1]d","object":"chat.completion","created":1700000000,"model":"stub",`+
				`"choices":[{"index":0,"finish_reason":"tool_calls","logprobs":null,"message":{"role":"assistant","content":"%[2]s",`+
				`"refusal":null,"annotations":[],"tool_calls":[{"id":"call_%[1]d","type":"function","function":{"name":"bash",`+
				`"arguments":"{\"command\":\"true\"}"}}]}}],"usage":{"prompt_tokens":1000,"completion_tokens":60,"total_tokens":1060}}`,
				n.Add(1), thought)
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
			_, _ = w.Write(answer)
		}))
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// spent is the CPU time that a process has used, and how long it ran.
type spent struct{ user, sys, wall time.Duration }

func (s spent) cpu() time.Duration { return s.user + s.sys }

// per returns the difference between s and other for each of n steps.
func (s spent) per(n int, other spent) spent {
	d := time.Duration(n)
	return spent{(s.user - other.user) / d, (s.sys - other.sys) / d, (s.wall - other.wall) / d}
}

// BenchmarkOwnCPU runs agents of 60 and of 600 steps, the built program in real
// containers over HTTP, with a provider in its own process that takes no
// time. It reports what one step costs the program itself, in its own code and in
// the kernel: the difference to a run of two steps, as the median of all. BENCH_BATCH
// names another program to measure.
func BenchmarkOwnCPU(b *testing.B) {
	e2e.NeedDocker(b)
	path, url := os.Getenv("BENCH_BATCH"), e2e.StartHelper(b, "provider")
	if path == "" {
		path = e2e.Build(b)
	}
	run := func(agents, steps int) spent {
		cmd := exec.Command(path, "run", "--subset", "demo", "--slice", fmt.Sprint(":", agents), "-w", fmt.Sprint(agents),
			"-m", "openai/stub", "-c", fmt.Sprint("agent.step_limit=", steps), "-c", "agent.cost_limit=0", "-o", b.TempDir())
		cmd.Env = append(os.Environ(), "OPENAI_BASE_URL="+url, "XDG_STATE_HOME="+b.TempDir())
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		return spent{cmd.ProcessState.UserTime(), cmd.ProcessState.SystemTime(), time.Since(began)}
	}
	const few = 2
	for _, of := range []struct{ agents, steps int }{{8, 60}, {2, 600}} {
		b.Run(strconv.Itoa(of.steps), func(b *testing.B) {
			var each []spent
			for b.Loop() {
				less := run(of.agents, few)
				each = append(each, run(of.agents, of.steps).per(of.agents*(of.steps-few), less))
			}
			slices.SortFunc(each, func(x, y spent) int { return cmp.Compare(x.cpu(), y.cpu()) })
			s := each[len(each)/2]
			b.ReportMetric(s.cpu().Seconds()*1000, "cpu-ms/step")
			b.ReportMetric(s.user.Seconds()*1000, "user-ms/step")
			b.ReportMetric(s.sys.Seconds()*1000, "sys-ms/step")
			b.ReportMetric(1/s.wall.Seconds(), "steps/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}
