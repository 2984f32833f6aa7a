package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"batch.example/batch/attempt"
	"batch.example/batch/attempt/serve"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/printable"
	"batch.example/batch/run"
	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

// serveFlags are the flags that `batch serve` does not share with `batch run`.
type serveFlags struct {
	listenFlags
	image string
	rows  bool // --subset was given
	url   string
	proxy bool

	tokenFile, tokenEnv string

	serve.Config
}

func (a *app) serveCommand() *cobra.Command {
	f := newRunFlags()
	var s serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve the agent over the A2A protocol",
		Long: `Serve the agent to other programs over the A2A protocol (Agent2Agent 0.3,
JSON-RPC). Each context is a session with a container of its own, of --image or
of a row; each message is a turn; the changes come as the artifact patch.

  batch serve --image python:3.13 -m openai/gpt-5 -o runs/agent
  batch serve --subset verified -m openai/gpt-5 --idle 5m --max-contexts 20
  batch serve --image IMAGE -m MODEL --listen 0.0.0.0:8443 --url https://HOST:8443/ \
    --token-file tokens --tls-cert cert.pem --tls-key key.pem

The agent card is at /.well-known/agent-card.json. With --subset, a message that
begins a context names its row in its metadata: "batch/instance": "ID". A
message with "batch/retry": true in its metadata tries a failed turn again.

A file of tokens has lines NAME: TOKEN; callers see only their own contexts and
tasks. Beyond this machine, tokens and TLS are needed.

The directory is a run directory. The same command continues all contexts after
a restart, also after kill -9: tasks that were under way continue. The first
ctrl-c lets running turns end, the second stops them; both keep everything.

Limits of agent.* are for each turn. By default agent.finish_without_calls and
agent.ask are true, unless the agent writes its commands in a fence. If no -c
names a file, -c chat has the prompts.

Exit codes: 0 it was interrupted, 1 it could not continue, 2 usage, 4 the
directory is in use.`,
		RunE: func(c *cobra.Command, _ []string) error {
			s.rows, f.own = c.Flags().Changed("subset"), c.Flags()
			return a.serve(c.Context(), f, s)
		},
	}
	f.Workers = 16
	fs := c.Flags()
	s.add(fs, "127.0.0.1:4100")
	fs.StringVar(&s.url, "url", "", "`URL` at which callers reach the server, for the agent card (default: by --listen)")
	fs.StringVar(&s.tokenFile, "token-file", "", "`FILE` with the callers' bearer tokens: lines NAME: TOKEN")
	fs.StringVar(&s.tokenEnv, "token-env", "", "environment variable `NAME` that holds such lines")
	s.addTLS(fs)
	fs.BoolVar(&s.proxy, "behind-proxy", false, "take bearer tokens without TLS beyond this machine: a proxy in front of the server has TLS")
	fs.StringVar(&s.ModelKeyHeader, "model-key-header", "", "HTTP header `NAME` with a key for the model that is used for the request's turn alone")
	inSection(fs, "Server")
	widthVar(fs, &f.Workers, "workers", "", "contexts that have a container at the same time; beyond, idle ones are paused, then\nothers wait; auto chooses by the engine's CPU cores and memory")
	fs.DurationVar(&s.Idle, "idle", 10*time.Minute, "pause a context after this time without a message: its container is removed, and the next message\nruns the recorded commands again in a new one")
	fs.IntVar(&s.Limits.Contexts, "max-contexts", 100, "contexts in the directory, of all callers together (0: no limit)")
	fs.IntVar(&s.Limits.Turns, "max-turns", 100, "messages that a context may have (0: no limit)")
	f.addCost(fs)
	inSection(fs, "Limits")
	fs.StringVar(&s.image, "image", "", "image of the containers of contexts that name no row")
	addSource(fs, &f.Request)
	addConfig(fs, &f.Request)
	fs.StringVarP(&f.Output, "output", "o", "", "run directory (default: runs/serve-IMAGE-MODEL)")
	inSection(fs, "Run")
	addPrefix(fs, &f.Request)
	addAssets(fs, &f.Request)
	addPull(fs, &f.Request)
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "print the address only")
	f.addMask(fs)
	inSection(fs, "Output")
	return c
}

var (
	headerName   = lazy.Regexp(`^[A-Za-z0-9-]+$`)
	takenHeaders = []string{"Authorization", "Content-Length", "Content-Type", "Host", "Origin"}
)

// check refuses flags with values that no server can have.
func (f *serveFlags) check() error {
	switch {
	case f.image == "" && !f.rows:
		return fault.Newf(fault.Usage, "which containers?").WithHint("name an image with --image, or rows with --subset")
	case f.Limits.Contexts < 0 || f.Limits.Turns < 0:
		return fault.Newf(fault.Usage, "--max-contexts and --max-turns: expected 0 or more")
	case f.Idle < 0:
		return fault.Newf(fault.Usage, "--idle %v: expected a time such as 10m, or 0 for never", f.Idle)
	case f.ModelKeyHeader != "" && !headerName().MatchString(f.ModelKeyHeader) || slices.Contains(takenHeaders, http.CanonicalHeaderKey(f.ModelKeyHeader)):
		return fault.Newf(fault.Usage, "--model-key-header %q: expected the name of a header of its own, such as X-Model-Key", f.ModelKeyHeader)
	case f.tokenFile != "" && f.tokenEnv != "":
		return fault.Newf(fault.Usage, "--token-file and --token-env cannot be used together")
	}
	if f.url == "" {
		return f.checkTLS()
	}
	if u, err := url.Parse(f.url); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Path != "" && u.Path != "/" {
		return fault.Newf(fault.Usage, "--url %s: expected an address without a path, such as https://agent.example.org/", f.url)
	}
	return f.checkTLS()
}

// address resolves --listen, and refuses one at which strangers could call.
func (f *serveFlags) address(ctx context.Context) (*net.TCPAddr, error) {
	to, err := f.resolved(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case to.IP.IsLoopback():
	case !f.asksCallers():
		return nil, fault.Newf(fault.Usage, "--listen %s: programs on other machines could use the agent and spend your money", f.listen).
			WithHint("ask callers for tokens with --token-file (and --tls-cert), or listen at 127.0.0.1")
	case f.cert == "" && !f.proxy:
		return nil, fault.Newf(fault.Usage, "--listen %s: without TLS, the callers' tokens could be read on the network", f.listen).
			WithHint("give --tls-cert and --tls-key; or --behind-proxy where a proxy in front of this server has TLS")
	}
	return to, nil
}

// asksCallers reports whether callers have to show who they are.
func (f *serveFlags) asksCallers() bool {
	return f.tokenFile != "" || f.tokenEnv != ""
}

// tokens returns the tokens of those who may call; nil: none are asked for.
func (f *serveFlags) tokens(a *app) (*serve.Tokens, error) {
	text := ""
	switch {
	case f.tokenFile != "":
		data, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return nil, fault.New(fault.Usage, "reading --token-file", err)
		}
		text = string(data)
	case f.tokenEnv != "":
		if text = a.getenv(f.tokenEnv); text == "" {
			return nil, fault.Newf(fault.Usage, "--token-env %s: the variable is not set", f.tokenEnv)
		}
	default:
		return nil, nil
	}
	return serve.ParseTokens(text)
}

// contextInstances makes the instances of contexts.
type contextInstances struct {
	image string
	rows  map[string]dataset.Instance
}

// of returns the instance of a context that began with a row, or without one.
func (c contextInstances) of(id, row string) (dataset.Instance, error) {
	if row == "" && c.image == "" {
		return dataset.Instance{}, fault.Newf(fault.Usage, "name a row of the dataset")
	}
	if row == "" {
		ds, err := imageDataset(c.image, id, "")
		if err != nil {
			return dataset.Instance{}, err
		}
		return ds.Instances[0], nil
	}
	in, ok := c.rows[row]
	if !ok {
		return in, fault.Newf(fault.Usage, "there is no row %.100q", row)
	}
	if in.ImageDerived() {
		in.Image = in.ImageName("")
	}
	in.Fields = maps.Clone(in.Fields)
	in.ID, in.Fields["instance_id"], in.Fields["image_name"] = id, id, in.Image
	return in, nil
}

// loadRows reads the rows that contexts can begin with.
func (f *serveFlags) loadRows(ctx context.Context, a *app, r run.Request) (contextInstances, *dataset.Dataset, error) {
	c := contextInstances{image: f.image, rows: map[string]dataset.Instance{}}
	if !f.rows {
		ds, err := imageDataset(f.image, "context", "")
		return c, ds, err
	}
	ds, selected, err := a.load(ctx, r)
	if err != nil {
		return c, nil, err
	}
	for _, in := range selected {
		c.rows[in.ID] = in
	}
	checked := *ds
	checked.Instances = selected
	return c, &checked, nil
}

// serve checks what `batch serve` was asked for, and serves.
func (a *app) serve(ctx context.Context, f runFlags, sf serveFlags) error {
	if err := sf.check(); err != nil {
		return err
	}
	at, err := sf.address(ctx)
	if err != nil {
		return err
	}
	rows, ds, err := sf.loadRows(ctx, a, f.Request)
	if err != nil {
		return err
	}
	git := run.ProbeGit(ctx, "")
	defer git.Stop()
	f.Configs = talkConfig(f.Configs)
	if !sf.rows {
		f.Subset = ""
	}
	named := f.Output != ""
	s, err := a.configured(f, git)
	if err != nil {
		return err
	}
	s.Command = "serve"
	if !named {
		s.Output = run.DefaultOutput("serve-"+strings.TrimPrefix(ds.Name, "image "), s.Settings.Model.ModelName)
	}
	if err := run.RefuseSweep(s.Output); err != nil {
		return err
	}
	talkative(s)
	s.KeyFromTurn = sf.ModelKeyHeader != ""
	if err := s.Over(ds, ds.Instances); err != nil {
		return err
	}
	s.Measure(ctx)
	return s.serve(ctx, sf, at, rows)
}

// serving is a server that answers while its run works: a job.
type serving struct {
	*invocation
	run    *run.Run
	server *serve.Server
	http   *http.Server
	listen net.Listener
	url    string
}

// serve opens the directory and answers until it is interrupted.
func (s *invocation) serve(ctx context.Context, f serveFlags, at *net.TCPAddr, rows contextInstances) (err error) {
	known, err := serve.Contexts(s.Output)
	if err != nil {
		return err
	}
	s.Instances = nil
	for _, c := range known {
		in, err := rows.of(c.ID, c.Row)
		if err != nil {
			return fault.New(fault.Usage, "context "+c.ID, err).WithHint("serve the rows with which the contexts of %s began", s.Output)
		}
		s.Instances = append(s.Instances, in)
	}
	v := &serving{invocation: s}
	if err := v.open(ctx, f, at, rows); err != nil {
		return err
	}
	defer v.listen.Close()
	c, err := s.config()
	if err != nil {
		return err
	}
	c.Talk = func(ctx context.Context, conv *attempt.Conversation) error { return v.server.Talk(ctx, conv) }
	c.Serving, c.Settled, c.Control = true, true, nil
	c.Retries = runner.DefaultRetries()
	delete(c.Retries, "diverged") // a context keeps its conversation
	if err := checkNetwork(ctx, c); err != nil {
		return err
	}
	r, err := run.Open(ctx, c)
	if err != nil {
		return err
	}
	v.run = r
	defer func() { err = s.also(err, r.Close()) }()
	if err := v.server.Load(r.Roster()); err != nil {
		return err
	}
	work := s.session()
	work.saving, work.again = "saving the running turns and removing their containers", "the same command"
	return work.work(ctx, v)
}

// open listens, and makes the server.
func (v *serving) open(ctx context.Context, f serveFlags, at *net.TCPAddr, rows contextInstances) error {
	tokens, err := f.tokens(v.app)
	if err != nil {
		return err
	}
	secure, err := f.tls()
	if err != nil {
		return err
	}
	if v.listen, err = f.open(ctx, at.String()); err != nil {
		return err
	}
	v.url = f.at(v.listen)
	if f.url != "" {
		v.url = strings.TrimSuffix(f.url, "/") + "/"
	}
	c := f.Config
	c.Dir, c.Width, c.Instance, c.Tokens, c.Mask, c.Log = v.Output, v.Workers, rows.of, tokens, v.mask.Text, v.warnings()
	c.Card = serve.Card{Name: "batch", Version: run.Version(), URL: v.url, Description: "A coding agent (" + v.Settings.Model.ModelName + ") that works in a container of its own."}
	v.server = serve.New(c)
	v.http = &http.Server{
		Handler: v.server.Handler(), TLSConfig: secure, ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	return nil
}

// Work answers requests while the run works. An interrupt ends a server, and is not an error.
func (v *serving) Work(ctx context.Context, drain <-chan struct{}, show func(vocab.Event)) error {
	// Who reads the address may interrupt the server, which ends well from here on.
	if _, err := fmt.Fprintf(v.stdout, "serving %s at %s\nagent card %s.well-known/agent-card.json\ncontexts   %s, in %s\n",
		printable.Line(v.Settings.Model.ModelName), v.url, v.url,
		printable.Count(v.server.Contexts(), "context", "contexts"), filepath.Join(v.Output, "")); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := answer(v.http, v.listen, cancel)
	err := v.run.Work(ctx, drain, func(e vocab.Event) {
		v.server.Event(e)
		show(e)
	})
	if sum := v.run.Summary(); err == nil && sum.Budget && !closed(drain) {
		v.tell(v.limitReached(sum.Stand) + "; tasks can be read until ctrl-c")
		select {
		case <-drain:
		case <-ctx.Done():
		}
	}
	v.server.Close()
	failed := answers.shut(ctx)
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, failed)
}

// Pending implements job: interrupted work continues with the next message.
func (v *serving) Pending() int { return 0 }

// Cost implements job.
func (v *serving) Cost() float64 { return v.run.Cost() }

// Close implements job.
func (v *serving) Close() error { return v.run.Close() }

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
