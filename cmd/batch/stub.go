package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"batch.example/batch/dataset"
	"batch.example/batch/dataset/demo"
	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
	"batch.example/batch/llm/catalogue"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/llm/stub"
	"batch.example/batch/run"
)

// stubKey is a key for the stub provider, which accepts every key.
const stubKey = "sk-stub-takes-any-key"

// stubPaths are the ends of the base addresses of providers, by their name.
var stubPaths = map[string]string{"openai": "/v1", "anthropic": "", "gemini": ""}

// stubFlags are the flags of `batch stub`.
type stubFlags struct {
	run.Request
	listenFlags
	givenFlags
	script, id      string
	latency, outage string
	limits          stub.Limits
	faults          []string

	from, to time.Duration // latency, read by check
	odds     stub.Odds     // faults, read by check
	find     *regexp.Regexp

	injected atomic.Int64 // answers that --fault changed
}

func (a *app) stubCommand() *cobra.Command {
	f := &stubFlags{}
	c := &cobra.Command{
		Use:   "stub",
		Short: "Serve scripted replies as a provider, to try a sweep without a key",
		Long: `Serve a provider on this machine until interrupted. It speaks OpenAI's chat
completions and Responses, Anthropic's Messages and Gemini's generateContent,
streamed or not, and refuses what the real ones refuse. It prints the variables
that make batch run ask it, and in the end how many requests came.

Replies are from --script: instance id, or "*", to a list of replies, as for
-m scripted/PATH. Without --script, the demo's instances have their own replies;
instances of other datasets look around, write a file and submit it as a patch.
demo__rpn-9 never submits and has 14 replies: the printed command ends it with
-c agent.step_limit=12.

  batch stub
  batch stub --subset verified --slice :20 --latency 2s..20s --rpm 60
  batch stub --script replies.yaml --fault 429:5% --fault cut:1%

--fault is an HTTP status or one of these, for a part of all requests: silence,
hangup (no answer), half, cut, stall (half of an answer; without its end; no
more bytes), broken (an error inside a stream), garbage (no JSON), slow (byte by
byte), empty, tool (an unknown one), arguments (malformed), ids (the same
twice), usage (none).

Exit codes: 0 it was interrupted, 1 it cannot serve, 2 usage.`,
		RunE: func(c *cobra.Command, _ []string) error {
			f.own = c.Flags()
			if err := f.check(); err != nil {
				return err
			}
			return a.stub(c.Context(), f)
		},
	}
	f.Request = run.NewRequest()
	f.Subset = "demo"
	fs := c.Flags()
	addSource(fs, &f.Request)
	fs.StringVar(&f.script, "script", "", "replies: a YAML or JSON `FILE`, a trajectory, or a folder of them")
	fs.StringVar(&f.id, "id", "", "find the instance id in the task by the first group of this `REGEXP`, not by the problem statement")
	fs.StringVar(&f.latency, "latency", "0s", "time before each answer, such as 500ms or 200ms..2s")
	inSection(fs, "Replies")
	f.add(fs, "127.0.0.1:0")
	fs.IntVar(&f.limits.RPM, "rpm", 0, "requests a minute for each key; more are refused by a 429 (default: no limit)")
	fs.IntVar(&f.limits.TPM, "tpm", 0, "tokens a minute for each key, of requests (default: no limit)")
	fs.StringVar(&f.outage, "outage", "", "refuse all for `LENGTH/PERIOD`, such as 4s/1m: 4 seconds of each minute")
	fs.StringArrayVar(&f.faults, "fault", nil, "`WHAT:SHARE` of the requests that fail, such as 429:5% or cut:0.01; may be repeated")
	inSection(fs, "Provider")
	return c
}

// check reads the flags.
func (f *stubFlags) check() (err error) {
	from, to, several := strings.Cut(f.latency, "..")
	f.from, err = time.ParseDuration(from)
	if f.to = f.from; several && err == nil {
		f.to, err = time.ParseDuration(to)
	}
	if err != nil || f.from < 0 || f.to < f.from {
		return fault.Newf(fault.Usage, "--latency %s: expected a time such as 500ms, or two such as 200ms..2s", f.latency)
	}
	if f.limits.RPM < 0 || f.limits.TPM < 0 {
		return fault.Newf(fault.Usage, "--rpm and --tpm: expected at least 0")
	}
	if err := f.checkOutage(); err != nil {
		return err
	}
	all := 0.0
	for _, text := range f.faults {
		odd, err := stub.ParseOdds(text)
		if err != nil {
			return fault.New(fault.Usage, "--fault", err)
		}
		f.odds, all = append(f.odds, odd), all+odd.Share
	}
	if all > 1+1e-9 {
		return fault.Newf(fault.Usage, "--fault: the shares are %.4g%% of the requests together, expected at most 100%%", 100*all)
	}
	if f.find, err = regexp.Compile(f.id); err != nil {
		return fault.New(fault.Usage, "--id", err)
	}
	if f.id == "" {
		f.find = nil
	}
	return nil
}

func (f *stubFlags) checkOutage() (err error) {
	if f.outage == "" {
		return nil
	}
	length, period, _ := strings.Cut(f.outage, "/")
	l := &f.limits
	if l.Refuse, err = time.ParseDuration(length); err == nil {
		l.Every, err = time.ParseDuration(period)
	}
	if err != nil || l.Refuse <= 0 || l.Refuse >= l.Every {
		return fault.Newf(fault.Usage, "--outage %s: expected a length and a longer period, such as 4s/1m", f.outage)
	}
	return nil
}

// anyReplies serve instances that have no script: a patch that adds a file.
//
//go:embed stub.yaml
var anyReplies []byte

// replies returns the script that the flags ask for.
func (f *stubFlags) replies() (scripted.Script, error) {
	if f.script != "" {
		return scripted.Load(f.script)
	}
	script, err := scripted.Read("stub.yaml", anyReplies)
	if err != nil || f.Subset != "demo" {
		return script, err
	}
	own, err := scripted.LoadFS(demo.Files(), "replies.yaml")
	maps.Copy(script, own)
	return script, err
}

// handler answers as the flags say.
func (f *stubFlags) handler(rows []dataset.Instance, illegal func(error)) (*stub.Handler, error) {
	replies, err := f.replies()
	if err != nil {
		return nil, err
	}
	script := &stub.Script{Replies: replies, ID: f.find}
	for _, in := range rows {
		script.Rows = append(script.Rows, stub.Row{ID: in.ID, Statement: in.ProblemStatement})
	}
	next := f.odds.Wrap(script.Next, func() { f.injected.Add(1) })
	return &stub.Handler{Limits: f.limits, Illegal: illegal, Next: func(n int, r *stub.Request) stub.Answer {
		answer := next(n, r)
		answer.Delay += f.from + rand.N(f.to-f.from+1) //nolint:gosec // chance, not secrecy
		return answer
	}}, nil
}

func (a *app) stub(ctx context.Context, f *stubFlags) error {
	_, rows, err := a.load(ctx, f.Request)
	if err != nil {
		return err
	}
	h, err := f.handler(rows, func(err error) { fmt.Fprintln(a.stderr, "refused:", printable.Line(err.Error())) })
	if err != nil {
		return err
	}
	l, err := f.open(ctx, f.listen)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := a.sayStub(f, len(rows), l.Addr()); err != nil {
		l.Close()
		return err
	}
	if err := answerAll(ctx, l, h); err != nil {
		return fault.New(fault.Host, "serving", err)
	}
	n, injected := h.Counts(), ""
	if len(f.odds) > 0 {
		injected = fmt.Sprintf(" (%d with a --fault)", f.injected.Load())
	}
	_, err = fmt.Fprintf(a.stdout, "\n%s answered%s, %d refused by --rpm, --tpm and --outage, %d against the provider's rules\n",
		printable.Count(n.Accepted, "request", "requests"), injected, n.Refused, n.Illegal)
	return err
}

// answerAll answers until ctx ends, and returns when no request is left.
func answerAll(ctx context.Context, l net.Listener, h *stub.Handler) error {
	h.Done = ctx.Done()
	var running sync.WaitGroup
	server := &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			running.Add(1)
			defer running.Done()
			h.ServeHTTP(w, r)
		}),
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		<-ctx.Done()
		_ = server.Close()
	}()
	err := server.Serve(l)
	if !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-closed
	running.Wait()
	return nil
}

// sayStub prints how to use the provider.
func (a *app) sayStub(f *stubFlags, rows int, listens net.Addr) error {
	at, everywhere := reachable(listens)
	at = "http://" + at
	text := fmt.Sprintf("serving %s of %s until interrupted\n\n", printable.Count(rows, "instance", "instances"), printable.Line(f.Subset))
	for _, p := range catalogue.Providers() {
		if path, ok := stubPaths[p.Name]; ok && p.Base != "" {
			text += fmt.Sprintf("export %s=%s%s %s=%s\n", p.Base, at, path, p.Key, stubKey)
		}
	}
	if everywhere {
		text += "\non other machines, write this machine's name in place of 127.0.0.1\n\n"
	}
	selects := append([]string{"split", "revision", "seed"}, selectionFlags...)
	command := f.added("batch run --subset "+printable.ShellWord(f.Subset), func(name string) bool { return slices.Contains(selects, name) })
	limit := ""
	if f.Subset == "demo" && f.script == "" { // an instance of it has no reply that submits
		limit = " -c agent.step_limit=12"
	}
	_, err := fmt.Fprintf(a.stdout, "%s%s -m openai/stub -c model.cost_tracking=ignore_errors%s -o runs/stub\n", text, command, limit)
	return cmp.Or(err, a.flush())
}

// reachable returns the address at which this machine reaches a server. Everywhere means that
// the server listens at all addresses of the machine; nothing can connect to such an address.
func reachable(listens net.Addr) (at string, everywhere bool) {
	tcp, ok := listens.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return listens.String(), false
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port)), true
}

// flush writes buffered standard output: the process serves for long.
func (a *app) flush() error {
	if out, ok := a.stdout.(interface{ Flush() error }); ok {
		return out.Flush()
	}
	return nil
}
