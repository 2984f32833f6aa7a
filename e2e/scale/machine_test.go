package scale

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"batch.example/batch/internal/boxinit/wire"
	"batch.example/batch/llm"
	"batch.example/batch/llm/stub"
	"batch.example/batch/vocab"
)

// machine is a program that serves models and containers until its standard input ends: the
// stub provider over HTTP, and containers. Its arguments are the socket of the containers, how many
// steps an agent takes, and how long a step takes on average. Its first output line is the
// provider's address.
func machine() {
	var last int // step of an agent
	each, err := time.ParseDuration(os.Args[3])
	if err == nil {
		_, err = fmt.Sscan(os.Args[2], &last)
	}
	boxes, failed := net.Listen("unix", os.Args[1])
	models, refused := net.Listen("tcp", "127.0.0.1:0")
	if err := cmp.Or(err, failed, refused); err != nil {
		panic(err)
	}
	fmt.Printf("http://%s/v1\n", models.Addr())
	go func() {
		for {
			c, err := boxes.Accept()
			if err != nil {
				panic(err)
			}
			go (&simulated{conn: c, each: each}).serve()
		}
	}()
	h := &stub.Handler{
		Illegal: func(err error) { fmt.Fprintln(os.Stderr, "refused:", err) },
		Next:    func(_ int, r *stub.Request) stub.Answer { return thoughtOf(r, last, each) },
	}
	go func() { panic(http.Serve(models, h)) }()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// thoughtOf returns the model's answer. It takes 85 % to 105 % of a step, 95 % on average.
func thoughtOf(r *stub.Request, last int, each time.Duration) stub.Answer {
	n := r.Replies() + 1
	command := fmt.Sprintf(`{"command":"cd src && grep -rn 'def step_%d' . | head -40"}`, n)
	if n >= last {
		command = `{"command":"echo ` + vocab.Marker + ` && cat /tmp/patch.txt"}`
	}
	return stub.Answer{
		Content:   strings.Repeat("Let me look at what the tests expect of this function. ", 5),
		ToolCalls: []llm.ToolCall{{ID: fmt.Sprint("call_", n), Name: "bash", Arguments: command}},
		Usage:     vocab.Usage{Input: int64(len(r.Body) / 4), Output: 80},
		Delay:     each*85/100 + rand.N(each/5+1),
	}
}

// simulated is process 1 of a container, without a process: it speaks the helper's protocol, and
// its commands only take time. It knows one connection.
type simulated struct {
	conn net.Conn
	each time.Duration // of a step
	out  *wire.Writer
	at   uint64 // the connection's number
}

func (s *simulated) serve() {
	defer s.conn.Close()
	var key wire.Key
	if _, err := io.ReadFull(s.conn, key[:]); err != nil {
		return
	}
	in := wire.NewReader(s.conn, key, wire.Runner)
	s.out = wire.NewWriter(s.conn, key, wire.Init)
	for {
		f, began, err := in.Next()
		if err != nil {
			return // it was removed
		}
		if began {
			var m wire.Hello
			if wire.Decode(f.Data, &m) != nil {
				return
			}
			s.at = m.Connection
			in.Begin(s.at)
			_ = s.out.Begin(s.at, wire.Frame{Kind: wire.KindWelcome, Data: wire.Encode(wire.Welcome{Version: wire.Version, Connection: s.at})})
			continue
		}
		s.take(f)
	}
}

func (s *simulated) send(kind wire.Kind, id string, data []byte) {
	_ = s.out.Write(s.at, wire.Frame{Kind: kind, ID: id, Data: data})
}

func (s *simulated) take(f wire.Frame) {
	switch f.Kind {
	case wire.KindRun:
		var run wire.Run
		if wire.Decode(f.Data, &run) == nil {
			go s.run(f.ID, run)
		}
	case wire.KindRenew:
		s.send(wire.KindAlive, "", nil)
	default:
		s.send(wire.KindDone, f.ID, wire.Encode(wire.Done{}))
	}
}

// run answers a command. One of the agent takes 1 % to 9 % of a step.
func (s *simulated) run(id string, run wire.Run) {
	out := ""
	var took time.Duration
	if word, checks := strings.CutPrefix(run.Script, "echo batch-shell"); checks {
		word, _, _ = strings.Cut(word, ";")
		out = "batch-shell" + word + "\n"
	} else {
		out, took = outputOf(run.Script), s.each/100+rand.N(s.each*8/100+1)
		time.Sleep(took)
	}
	if out != "" {
		s.send(wire.KindOutput, id, []byte(out))
	}
	n := uint64(len(out))
	s.send(wire.KindResult, id, wire.Encode(wire.Result{Total: n, Kept: n, Nanos: uint64(took)}))
}

// outputOf returns the output of an agent's command: 1 to 4 KB of matches, or a patch.
func outputOf(script string) string {
	if strings.Contains(script, vocab.Marker) {
		return vocab.Marker + "\ndiff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-old\n+new\n"
	}
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, script)
	size := 1<<10 + int(hash.Sum64()%(3<<10))
	var b strings.Builder
	for n := 1; b.Len() < size; n++ {
		fmt.Fprintf(&b, "./module_%d/handlers.py:%d:    def step_%x(self, request, *, timeout=None):\n", n, 17*n, hash.Sum64()>>(n%32))
	}
	return b.String()
}
