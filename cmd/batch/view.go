package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/view"
)

// viewFlags are the flags of `batch view`.
type viewFlags struct {
	listenFlags
	control  bool   // the pages have forms that change running work
	export   string // a folder for the pages; empty: they are served
	unmasked bool   // export also what an older batch made
}

func (a *app) viewCommand() *cobra.Command {
	var f viewFlags
	c := &cobra.Command{
		Use:   "view [DIR...]",
		Short: "Show runs in a browser: results, trajectories, search",
		Long: `Show runs in a browser, also while they work: all results in one matrix, the
report that compares them, each trajectory step by step, a search over all of
them, and the attempts at one instance side by side. DIR is a run directory,
the folder of a sweep, or a folder of them (default: runs). It also reads the
folders of mini-swe-agent.

  batch view runs
  batch view runs/gpt-5 runs/sonnet --listen 127.0.0.1:4200

The first line is the link, with a token that the browser keeps as a cookie.
The server only reads; --control adds forms that change running work, as
batch ctl does. Beyond this machine it needs TLS:

  batch view runs --listen 0.0.0.0:4200 --tls-cert cert.pem --tls-key key.pem

--export writes all pages into a folder instead. Its index.html can be opened
from a disk, and any web server can serve it:

  batch view runs/sweep --export site

Each page has a twin in JSON, for programs: add ?format=json to its address, and
send the token as a header, Authorization: Bearer TOKEN.`,
		RunE: func(c *cobra.Command, args []string) error {
			if f.unmasked && f.export == "" {
				return fault.Newf(fault.Usage, "--unmasked needs --export").WithHint("pages that are served say themselves what is not hidden in them")
			}
			if len(args) == 0 {
				args = []string{"runs"}
			}
			return a.view(c.Context(), f, args)
		},
	}
	fs := c.Flags()
	f.add(fs, "127.0.0.1:0")
	f.addTLS(fs)
	fs.BoolVar(&f.control, "control", false, "add forms that change running work, as batch ctl does")
	fs.StringVar(&f.export, "export", "", "write the pages into this `FOLDER`, which is new or empty, and end")
	fs.BoolVar(&f.unmasked, "unmasked", false, "export attempts of older versions too, in which the run's secrets are not hidden")
	return c
}

// view serves the pages of the runs in roots until it is interrupted.
func (a *app) view(ctx context.Context, f viewFlags, roots []string) error {
	if f.export != "" {
		return a.exportView(ctx, f, roots)
	}
	if err := f.checkTLS(); err != nil {
		return err
	}
	at, err := f.resolved(ctx)
	if err != nil {
		return err
	}
	if !at.IP.IsLoopback() && f.cert == "" {
		return fault.Newf(fault.Usage, "--listen %s: without TLS, the token and the trajectories could be read on the network", f.listen).
			WithHint("give --tls-cert and --tls-key; or listen at 127.0.0.1, and forward the port with ssh -L")
	}
	secure, err := f.tls()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	listen, err := f.open(ctx, at.String())
	if err != nil {
		return err
	}
	defer listen.Close()
	got := listen.Addr().(*net.TCPAddr)
	link, err := url.Parse(f.at(listen))
	if err != nil {
		return fault.New(fault.Bug, "making the link", err)
	}
	if host, _, err := net.SplitHostPort(f.listen); err == nil && strings.HasSuffix(host, ".localhost") {
		link.Host = net.JoinHostPort(host, fmt.Sprint(got.Port))
	}
	c := a.viewConfig(roots)
	if f.control {
		c.Control = commandsOf
	}
	c.Token, c.Hosts, c.Secure = rand.Text(), hostNames(link, f.listen, got), secure != nil
	s, err := view.New(c)
	if err != nil {
		return err
	}
	link.RawQuery = url.Values{"token": {c.Token}}.Encode()
	if _, err := fmt.Fprintf(a.rows, "%s\n", link); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "%s; ctrl-c ends the server\n", printable.Count(s.Runs(), "run", "runs"))
	return served(ctx, listen, secure, s)
}

// viewConfig returns the settings of a server that shows the runs in roots.
func (a *app) viewConfig(roots []string) view.Config {
	return view.Config{
		Roots: roots, Mask: a.mask, MaskOf: a.maskOfRun, Row: a.rowsOfRuns(), Log: slog.New(slog.NewTextHandler(a.stderr, nil)),
	}
}

// exportView writes the pages of the runs in roots into a folder.
func (a *app) exportView(ctx context.Context, f viewFlags, roots []string) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	s, err := view.New(a.viewConfig(roots))
	if err != nil {
		return err
	}
	pages := 0
	failed := s.Export(ctx, f.export, f.unmasked, func(n int) { pages = n })
	if failed != nil && fault.KindOf(failed) != fault.Instance {
		return failed
	}
	_, err = fmt.Fprintf(a.stdout, "%s of %s in %s\n", printable.Count(pages, "page", "pages"), printable.Count(s.Runs(), "run", "runs"), filepath.Join(f.export, "index.html"))
	return errors.Join(failed, err)
}

// hostNames returns the names by which browsers may call a server.
func hostNames(link *url.URL, asked string, got *net.TCPAddr) []string {
	port := fmt.Sprint(got.Port)
	names := []string{link.Host, net.JoinHostPort(got.IP.String(), port)}
	if host, _, err := net.SplitHostPort(asked); err == nil && host != "" {
		names = append(names, net.JoinHostPort(host, port))
	}
	if got.IP.IsLoopback() {
		names = append(names, "localhost:"+port)
	}
	if got.IP.IsUnspecified() {
		addrs, _ := net.InterfaceAddrs() // without them, the name of the machine remains
		for _, addr := range addrs {
			if n, ok := addr.(*net.IPNet); ok {
				names = append(names, net.JoinHostPort(n.IP.String(), port))
			}
		}
	}
	for i := range names {
		names[i] = strings.ToLower(names[i])
	}
	return names
}

// served answers requests until ctx ends.
func served(ctx context.Context, listen net.Listener, secure *tls.Config, s *view.Server) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := &http.Server{
		Handler: s.Handler(), TLSConfig: secure, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // clients' errors
	}
	var warm sync.WaitGroup
	warm.Go(func() { s.Warm(ctx) })
	defer warm.Wait()
	answers := answer(server, listen, cancel)
	<-ctx.Done()
	return answers.shut(ctx)
}

// rowsOfRuns returns a function that finds the rows of runs in their datasets, as `batch audit` does.
func (a *app) rowsOfRuns() func(context.Context, *manifest.Manifest, string) (*dataset.Instance, string) {
	var mu sync.Mutex
	by := auditor{app: a}
	return func(ctx context.Context, m *manifest.Manifest, id string) (*dataset.Instance, string) {
		mu.Lock()
		defer mu.Unlock()
		rows := by.rowsFor(ctx, &auditPlace{snap: &results.Snapshot{Manifest: m}})
		return rows.rows[id], rows.why
	}
}
