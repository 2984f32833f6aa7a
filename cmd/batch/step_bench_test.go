package main

import (
	"bufio"
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
	"syscall"
	"testing"
	"time"
)

// provider is a program that speaks chat completions on loopback until its
// standard input ends, whose address is its first line. It answers at once, and
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

// startProvider starts a provider in a process of its own, and returns its address.
func startProvider(b *testing.B) string {
	cmd := exec.Command("provider")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(url)
}

// spent is what a process has used of the CPU, and how long it ran.
type spent struct{ user, sys, wall time.Duration }

func (s spent) per(than spent, steps int) spent {
	n := time.Duration(steps)
	return spent{(s.user - than.user) / n, (s.sys - than.sys) / n, (s.wall - than.wall) / n}
}

// BenchmarkStep runs whole agents, the built program in real containers over HTTP,
// against a provider in a process of its own that takes no time. It reports what
// one step costs the program itself, user and kernel: a run of so many steps
// less one of two, medians. BENCH_BATCH names another program to measure.
func BenchmarkStep(b *testing.B) {
	needDocker(b)
	path, url := cmp.Or(os.Getenv("BENCH_BATCH"), built(b)), startProvider(b)
	const agents, few = 2, 2
	run := func(steps int) spent {
		cmd := exec.Command(path, "run", "--subset", "demo", "--slice", fmt.Sprint(":", agents), "-w", fmt.Sprint(agents),
			"-m", "openai/stub", "-c", fmt.Sprint("agent.step_limit=", steps), "-c", "agent.cost_limit=0", "-o", b.TempDir())
		cmd.Env = append(os.Environ(), "OPENAI_BASE_URL="+url, "XDG_STATE_HOME="+b.TempDir())
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		var u syscall.Rusage = *cmd.ProcessState.SysUsage().(*syscall.Rusage)
		return spent{time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano()), time.Since(began)}
	}
	for _, steps := range []int{60, 600} {
		b.Run(strconv.Itoa(steps), func(b *testing.B) {
			var each []spent
			for b.Loop() {
				each = append(each, run(steps).per(run(few), agents*(steps-few)))
			}
			slices.SortFunc(each, func(x, y spent) int { return cmp.Compare(x.user+x.sys, y.user+y.sys) })
			s := each[len(each)/2]
			b.ReportMetric(float64((s.user + s.sys).Microseconds())/1000, "cpu-ms/step")
			b.ReportMetric(float64(s.user.Microseconds())/1000, "user-ms/step")
			b.ReportMetric(float64(s.sys.Microseconds())/1000, "sys-ms/step")
			b.ReportMetric(float64(time.Second)/float64(s.wall), "steps/s-agent")
			b.ReportMetric(0, "ns/op")
		})
	}
}
